package readdb

import (
	"strings"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// authorize is SQLite's authorizer callback: it sees every action of a statement while that is compiled, and of the
// statements that SQLite compiles on its own while one runs. What is not known to read is denied.
func authorize(_ *libc.TLS, _ uintptr, action int32, first, second, _, _ uintptr) int32 {
	if allowed(action, goString(first), goString(second)) {
		return sqlite3.SQLITE_OK
	}
	return sqlite3.SQLITE_DENY
}

func goString(p uintptr) string {
	if p == 0 {
		return ""
	}
	return libc.GoString(p)
}

// allowed is the policy. What the two names are depends on the action; see
// https://www.sqlite.org/c3ref/c_alter_table.html.
func allowed(action int32, first, second string) bool {
	switch action {
	case sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE:
		return true
	case sqlite3.SQLITE_FUNCTION:
		return !deniedFunctions[strings.ToLower(second)]
	case sqlite3.SQLITE_PRAGMA:
		takesArgument, known := readingPragmas[strings.ToLower(first)]
		return known && (second == "" || takesArgument)
	}
	return false
}

// deniedFunctions do more than compute, and are also off by default; or their time grows with the product of the sizes of their
// arguments, and they cannot be interrupted.
var deniedFunctions = map[string]bool{
	"load_extension": true,
	"fts3_tokenizer": true,
	"json_patch":     true,
	"jsonb_patch":    true,
}

// readingPragmas only tell something. The value says whether an argument is a name to look at; for the others an
// argument would be a new setting.
var readingPragmas = map[string]bool{
	"table_info": true, "table_xinfo": true, "table_list": true,
	"index_list": true, "index_info": true, "index_xinfo": true,
	"foreign_key_list": true, "foreign_key_check": true,
	"integrity_check": true, "quick_check": true,
	"database_list": false, "collation_list": false, "function_list": false, "module_list": false, "pragma_list": false,
	"compile_options": false, "encoding": false, "page_count": false, "page_size": false, "freelist_count": false,
	"user_version": false, "application_id": false, "schema_version": false, "data_version": false,
	"journal_mode": false, "auto_vacuum": false,
}
