// Package tools holds what a model may call: the [Tool] interface, a [Registry] that checks every call against the
// tool's argument schema before it runs, and the built-in tools for files, logs, SQLite databases, shell commands, stored results
// and memories.
//
// The built-in tools only read, but for remember, which writes to its own store. They resolve every path and refuse what lies outside the allowed folders; SQL is
// checked by the database, not by word lists; a shell command is parsed, checked, and run from the same parsed words.
// Text for the model is compact, valid UTF-8, and free of control characters. A tool's text is data: this package does
// not decide how it is placed in a prompt, and it does not decide which tools a task may use.
package tools
