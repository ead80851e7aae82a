package benchmark

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"
)

// A truth finds in the files of a workspace one value that a case expects, by another way than the files were made.
type truth func(t *testing.T, workspace string) string

// query asks the database for one value.
func query(db, statement string) truth {
	return func(t *testing.T, workspace string) string {
		path := filepath.Join(workspace, db)
		require.FileExists(t, path)
		opened, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
		require.NoError(t, err)
		defer func() { require.NoError(t, opened.Close()) }()
		rows, err := opened.Query(statement)
		require.NoError(t, err, statement)
		defer func() { require.NoError(t, rows.Close()) }()
		var values []string
		for rows.Next() {
			var value string
			require.NoError(t, rows.Scan(&value))
			values = append(values, value)
		}
		require.NoError(t, rows.Err())
		require.Len(t, values, 1, statement)
		return values[0]
	}
}

// most asks for the value of the first of several columns of a list, which must be the only one with its number.
func most(db, statement string) truth {
	return func(t *testing.T, workspace string) string {
		first := query(db, "SELECT value FROM ("+statement+") ORDER BY number DESC LIMIT 1")(t, workspace)
		ties := query(db, "WITH list AS ("+statement+") SELECT count(*) FROM list WHERE number = (SELECT max(number) FROM list)")(t, workspace)
		require.Equal(t, "1", ties, "more than one answer is right: %s", statement)
		return first
	}
}

// match finds the one place of the file at which the pattern matches, and returns its group.
func match(file, pattern string) truth {
	return func(t *testing.T, workspace string) string {
		found := regexp.MustCompile(`(?m)`+pattern).FindAllStringSubmatch(read(t, workspace, file), -1)
		require.Len(t, found, 1, "%s in %s", pattern, file)
		return found[0][1]
	}
}

// count counts the lines of a file that match.
func count(file, pattern string) truth {
	return func(t *testing.T, workspace string) string {
		n := 0
		for line := range strings.Lines(read(t, workspace, file)) {
			if regexp.MustCompile(pattern).MatchString(strings.TrimSuffix(line, "\n")) {
				n++
			}
		}
		return fmt.Sprint(n)
	}
}

// commonest is the value of the group of pattern that most lines have.
func commonest(file, pattern string) truth {
	return func(t *testing.T, workspace string) string {
		counts := map[string]int{}
		for _, found := range regexp.MustCompile(`(?m)`+pattern).FindAllStringSubmatch(read(t, workspace, file), -1) {
			counts[found[1]]++
		}
		names := sortedKeys(counts)
		require.NotEmpty(t, names)
		slices.SortStableFunc(names, func(a, b string) int { return counts[b] - counts[a] })
		require.True(t, len(names) == 1 || counts[names[0]] > counts[names[1]], "two are as common: %v", counts)
		return names[0]
	}
}

func read(t *testing.T, workspace, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(workspace, file))
	require.NoError(t, err)
	return string(data)
}

// Truths of the fixtures that are made up from a seed.
var (
	incidentCode    = commonest(incidentLogPath, `^\S+ ERROR .* code=(\S+)`)
	incidentStalled = query(incidentDBPath, `SELECT count(*) FROM shipments WHERE status = 'stalled'`)
	incidentLimit   = match(incidentConfigPath, `^max_connections = (\d+)$`)
)

func incidentNode(t *testing.T, workspace string) string {
	return commonest(incidentLogPath, ` node=(\S+) code=`+incidentCode(t, workspace)+` `)(t, workspace)
}

func incidentErrors(t *testing.T, workspace string) string {
	return count(incidentLogPath, ` code=`+incidentCode(t, workspace)+` `)(t, workspace)
}

// truths are, by suite and case, what the case expects: first each of expected_contains, then one of each of expected_any; a nil
// one says that no file has it, such as that something was refused.
var truths = map[string][]truth{
	"r0_smoke/file":   {match("kiln.ini", `(?s)\[second\]\ncelsius = (\d+)`)},
	"r0_smoke/sqlite": {query("ferry.db", `SELECT count(*) FROM crossings WHERE called_off_because = 'fog'`)},
	"r0_smoke/log":    {count("oven.log", `DOOR_OPEN`)},

	"r0_smoke_zh/zh_file":   {match("kiln.ini", `(?s)\[second\]\ncelsius = (\d+)`)},
	"r0_smoke_zh/zh_sqlite": {query("ferry.db", `SELECT count(*) FROM crossings WHERE reason = '大雾'`)},
	"r0_smoke_zh/zh_log":    {count("oven.log", `DOOR_OPEN`)},

	"r0_full/w1_file": {match(documentPath, `The depot is led by ([^;]+);`), match(documentPath, `spare key is kept in room (\S+)\.`)},
	"r0_full/w2_sqlite": {
		query("courses.db", `SELECT count(*) FROM enrolments WHERE payment = 'open'`),
		most("courses.db", `SELECT title AS value, price_eur AS number FROM courses`),
	},
	"r0_full/w3_log":           {incidentCode, incidentNode, incidentErrors},
	"r0_full/w4_large_16k":     {match(largeFixturePath, `Seized trailer impounded under number (\S+)$`)},
	"r0_full/w4_large_64k":     {match(largeFixturePath, `turnstile written off, voucher (\S+) issued$`)},
	"r0_full/w5_incident":      {incidentCode, incidentStalled, incidentLimit},
	"r0_full/w6_refused_write": {query("bookings.db", `SELECT count(*) FROM bookings WHERE status = 'confirmed'`), nil},
	"r0_full/w8_evidence": {
		most("alarms.db", `SELECT s.name AS value, count(*) AS number FROM alarms a JOIN stations s ON s.id = a.station_id GROUP BY s.id`),
		query("alarms.db", `SELECT max(n) FROM (SELECT count(*) AS n FROM alarms GROUP BY station_id)`),
		match("watch.md", `^- Lime Quarry: ([^,]+),`),
	},

	"r0_full_zh/zh_w1_file": {match(documentPath, `本站站长是([^，]+)，`), match(documentPath, `备用钥匙放在(\S+?)房间`)},
	"r0_full_zh/zh_w2_sqlite": {
		query("tea.db", `SELECT count(*) FROM orders WHERE status = '待发货'`),
		most("tea.db", `SELECT name AS value, price_yuan AS number FROM teas`),
	},
	"r0_full_zh/zh_w3_log":           {incidentCode, incidentNode, incidentErrors},
	"r0_full_zh/zh_w4_large_16k":     {match(largeFixturePath, `扣押的拖车已登记，编号(\S+)$`)},
	"r0_full_zh/zh_w4_large_64k":     {match(largeFixturePath, `已开凭单(\S+)$`)},
	"r0_full_zh/zh_w5_incident":      {incidentCode, incidentStalled, incidentLimit},
	"r0_full_zh/zh_w6_refused_write": {query("cards.db", `SELECT count(*) FROM cards WHERE state = '有效'`), nil},
	"r0_full_zh/zh_w8_evidence": {
		most("faults.db", `SELECT l.name AS value, count(*) AS number FROM faults f JOIN lines l ON l.id = f.line_id GROUP BY l.id`),
		query("faults.db", `SELECT max(n) FROM (SELECT count(*) AS n FROM faults GROUP BY line_id)`),
		match("duty.md", `^- 江北线：([^，]+)，`),
	},
}

// handMadeSuites are those whose expectations are about files, by name.
var handMadeSuites = []string{"r0_smoke", "r0_smoke_zh", "r0_full", "r0_full_zh"}

// TestExpectationsAreTrue finds every expected value in the files.
func TestExpectationsAreTrue(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, name := range handMadeSuites {
		s, err := Load(filepath.Join("workloads", name+".json"))
		require.NoError(t, err)
		require.Equal(t, name, s.Name)
		for _, c := range s.Cases {
			key := name + "/" + c.ID
			known, ok := truths[key]
			used[key] = true
			if !ok {
				require.Zero(t, c.MinToolCalls, "%s needs tools, so what it expects stands somewhere", key)
				continue
			}
			workspace := filepath.Join(t.TempDir(), "fixtures")
			require.NoError(t, c.writeFixtures(workspace, "..", s.Seed))
			require.Len(t, known, len(c.ExpectedContains)+len(c.ExpectedAny), key)
			for i, want := range c.ExpectedContains {
				require.Equal(t, known[i](t, workspace), want, key)
			}
			for i, any := range c.ExpectedAny {
				if find := known[len(c.ExpectedContains)+i]; find != nil {
					require.Contains(t, any, find(t, workspace), key)
				}
			}
		}
	}
	for key := range truths {
		require.True(t, used[key], "%s is no case", key)
	}
}
