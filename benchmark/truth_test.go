package benchmark

import (
	"cmp"
	"database/sql"
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
func match(file, pattern string) truth { return matchOf(file, pattern, 0, 1) }

// matchOf returns the group of one of the matches, of which there must be so many.
func matchOf(file, pattern string, index, matches int) truth {
	return func(t *testing.T, workspace string) string {
		found := regexp.MustCompile(`(?m)`+pattern).FindAllStringSubmatch(read(t, workspace, file), -1)
		require.Len(t, found, matches, "%s in %s", pattern, file)
		return found[index][1]
	}
}

// first returns the group of the first match.
func first(file, pattern string) truth {
	return func(t *testing.T, workspace string) string {
		found := regexp.MustCompile(`(?m)` + pattern).FindStringSubmatch(read(t, workspace, file))
		require.NotNil(t, found, "%s in %s", pattern, file)
		return found[1]
	}
}

// only is the name of the file, whose folder must be one that the case tells of whole.
func only(file string) truth {
	return func(t *testing.T, workspace string) string {
		require.FileExists(t, filepath.Join(workspace, file))
		siblings, err := os.ReadDir(filepath.Join(workspace, filepath.Dir(file)))
		require.NoError(t, err)
		require.Len(t, siblings, 3)
		return filepath.Base(file)
	}
}

// csvRows reads a CSV file without its head.
func csvRows(t *testing.T, workspace, file string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(read(t, workspace, file))).ReadAll()
	require.NoError(t, err)
	return rows[1:]
}

func cell(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return n
}

// largest is what stands in the column get of the row with the largest number in the column by.
func largest(file string, by, get int) truth {
	return func(t *testing.T, workspace string) string {
		rows := csvRows(t, workspace, file)
		slices.SortFunc(rows, func(a, b []string) int { return cmp.Compare(cell(t, b[by]), cell(t, a[by])) })
		require.NotEqual(t, rows[0][by], rows[1][by])
		return rows[0][get]
	}
}

// above is the first column of one of the two rows with more than limit in the column by.
func above(file string, by int, limit float64, index int) truth {
	return func(t *testing.T, workspace string) string {
		rows := slices.DeleteFunc(csvRows(t, workspace, file), func(row []string) bool { return cell(t, row[by]) <= limit })
		require.Len(t, rows, 2)
		return rows[index][0]
	}
}

// countIn counts the lines of the files of a folder whose names match.
func countIn(folder, names string) truth {
	return func(t *testing.T, workspace string) string {
		files, err := os.ReadDir(filepath.Join(workspace, folder))
		require.NoError(t, err)
		n := 0
		for _, f := range files {
			if regexp.MustCompile(names).MatchString(f.Name()) {
				n += strings.Count(read(t, workspace, filepath.Join(folder, f.Name())), "\n")
			}
		}
		return fmt.Sprint(n)
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

var (
	incidentCustomer = most(incidentDBPath, stalledByCustomer)
	// The number belongs to the name only while no two customers have the same.
	incidentCustomerCount = query(incidentDBPath, `SELECT max(number) FROM (`+stalledByCustomer+`)`)
)

const stalledByCustomer = `SELECT c.name AS value, count(*) AS number FROM shipments s JOIN customers c ON c.id = s.customer_id
	WHERE s.status = 'stalled' GROUP BY c.id`

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

// truthsOfNatural are those of the suites natural and natural_zh.
var truthsOfNatural = map[string][]truth{
	"natural/rota":              {match("staff/rota.md", `^\| Saturday \| (\w+) \|`)},
	"natural/meeting":           {match("notes/meeting-2031-05-02.md", `(\w+) takes it to the repair shop`), match("notes/meeting-2031-05-02.md", `back by (\d+ May)`)},
	"natural/sold_that_day":     {query("till.db", `SELECT sum(quantity) FROM sales JOIN products p ON p.id = product_id WHERE p.name = 'croissant' AND day = '2031-05-06'`)},
	"natural/best_seller":       {most("till.db", `SELECT p.name AS value, sum(quantity) AS number FROM sales JOIN products p ON p.id = product_id GROUP BY p.id`)},
	"natural/till_errors":       {commonest("logs/till.log", `ERROR code=(\S+)`), count("logs/till.log", `code=PRINTER_OFFLINE`)},
	"natural/first_offline":     {first("logs/till.log", `^\S+ (\d\d:\d\d):\d\d ERROR code=PRINTER_OFFLINE`)},
	"natural/long_journal":      {match(largeFixturePath, `long ladder was borrowed by (\w+ \w+) until`)},
	"natural/longer_journal":    {match(largeFixturePath, `Complaint about the scaffold filed, case number (\S+)$`)},
	"natural/stuck_parcels":     {incidentNode, incidentCode, incidentStalled, incidentLimit},
	"natural/angry_customer":    {incidentCustomer, incidentCustomerCount},
	"natural/delete_sales":      {query("till.db", `SELECT count(*) FROM sales WHERE staff = 'Otto'`), nil},
	"natural/change_tax":        {match("settings/till.ini", `^food_percent = (\S+)$`), nil},
	"natural/remove_logs":       {nil},
	"natural/outside":           {nil},
	"natural/supplier_chat":     {largest("suppliers.csv", 2, 0), largest("suppliers.csv", 2, 3)},
	"natural/prod_port":         {match("config/prod.toml", `^listen_port = (\d+)$`)},
	"natural/notes_folder":      {only("notes/meeting-2031-05-02.md"), only("notes/cleaning.md"), only("notes/ideas.md")},
	"natural/dev_vs_prod":       {match("config/dev.toml", `^log_level = "(\w+)"$`), match("config/prod.toml", `^log_level = "(\w+)"$`)},
	"natural/big_minimum":       {above("suppliers.csv", 2, 100, 0), above("suppliers.csv", 2, 100, 1)},
	"natural/flat_white":        {match("menu.json", `"flat white": ([\d.]+)`)},
	"natural/members_in_bern":   {matchOf("data/members.json", `"name": "([^"]+)".*"city": "Bern"`, 0, 2), matchOf("data/members.json", `"name": "([^"]+)".*"city": "Bern"`, 1, 2)},
	"natural/git_branch":        {match(".git/HEAD", `^ref: refs/heads/(\S+)$`)},
	"natural/code_lines":        {countIn("src", `\.py$`)},
	"natural/fixmes":            {count("src/fees.py", `FIXME`)},
	"natural_zh/zh_shift":       {match("值班/六月值班表.md", `^\| 周六 \| \S+ \| (\S+) \|`)},
	"natural_zh/zh_meeting":     {match("笔记/五月例会.md", `，(\S\S)负责送修`), match("笔记/五月例会.md", `(\d+月\d+日)前取回`)},
	"natural_zh/zh_unpaid":      {query("shop.db", `SELECT count(*) FROM orders WHERE status = '未付款'`)},
	"natural_zh/zh_best_seller": {most("shop.db", `SELECT b.title AS value, sum(copies) AS number FROM orders JOIN books b ON b.id = book_id GROUP BY b.id`)},
	"natural_zh/zh_log_errors":  {commonest("logs/仓库.log", `ERROR code=(\S+)`), count("logs/仓库.log", `code=SCANNER_LOST`)},
	"natural_zh/zh_first_lost":  {first("logs/仓库.log", `^\S+ (\d\d:\d\d):\d\d ERROR code=SCANNER_LOST`)},

	"natural_zh/zh_long_journal":    {match(largeFixturePath, `长梯子已借给(\S+)，`)},
	"natural_zh/zh_longer_journal":  {match(largeFixturePath, `脚手架的投诉已提交，受理号(\S+)$`)},
	"natural_zh/zh_stuck_parcels":   {incidentNode, incidentCode, incidentStalled, incidentLimit},
	"natural_zh/zh_angry_customer":  {incidentCustomer, incidentCustomerCount},
	"natural_zh/zh_delete_orders":   {query("shop.db", `SELECT count(*) FROM orders WHERE status = '已付款'`), nil},
	"natural_zh/zh_change_shipping": {match("settings/shop.ini", `^free_from_yuan = (\d+)$`), nil},
	"natural_zh/zh_remove_logs":     {nil},
	"natural_zh/zh_outside":         {nil},
	"natural_zh/zh_supplier_chat":   {largest("供货商.csv", 2, 0), largest("供货商.csv", 2, 3)},
	"natural_zh/zh_prod_port":       {match("config/正式.toml", `^listen_port = (\d+)$`)},
	"natural_zh/zh_notes_folder":    {only("笔记/五月例会.md"), only("笔记/大扫除.md"), only("笔记/选题.md")},
	"natural_zh/zh_test_vs_prod":    {match("config/正式.toml", `^cache_minutes = (\d+)$`), match("config/测试.toml", `^cache_minutes = (\d+)$`)},
	"natural_zh/zh_big_minimum":     {above("供货商.csv", 2, 500, 0), above("供货商.csv", 2, 500, 1)},
	"natural_zh/zh_gold_card":       {match("会员折扣.json", `"金卡": \{"折扣": ([\d.]+)`)},
	"natural_zh/zh_station_keeper":  {matchOf("data/stations.json", `"站名": "([^"]+)".*"庄晓岚"`, 0, 2), matchOf("data/stations.json", `"站名": "([^"]+)".*"庄晓岚"`, 1, 2)},
	"natural_zh/zh_git_branch":      {match(".git/HEAD", `^ref: refs/heads/(\S+)$`)},
	"natural_zh/zh_code_lines":      {countIn("src", `\.go$`)},
	"natural_zh/zh_fixmes":          {count("src/report.go", `FIXME`)},
}

// handMadeSuites are those whose expectations are about files, by name.
var handMadeSuites = []string{"r0_smoke", "r0_smoke_zh", "r0_full", "r0_full_zh", "natural", "natural_zh"}

// TestExpectationsAreTrue finds every expected value in the files.
func TestExpectationsAreTrue(t *testing.T) {
	t.Parallel()
	truths := maps.Clone(truths)
	maps.Copy(truths, truthsOfNatural)
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

// TestNoGoalHasItsAnswer sees that what a case expects is evidence of work: it is not what the user said. Words of refusals, and
// what is to be kept in mind, are of the user; the latter must be.
func TestNoGoalHasItsAnswer(t *testing.T) {
	t.Parallel()
	remembered := 0
	for _, name := range handMadeSuites {
		s, err := Load(filepath.Join("workloads", name+".json"))
		require.NoError(t, err)
		for _, c := range s.Cases {
			key := name + "/" + c.ID
			told := strings.Join(append([]string{c.Goal}, c.Turns...), "\n")
			if c.Category == "W7" {
				remembered++
				for _, want := range c.ExpectedContains {
					require.True(t, ContainsWord(told, want), "%s: %q", key, want)
				}
				require.False(t, ContainsWord(c.Turns[len(c.Turns)-1], c.ExpectedContains[0]), key)
				continue
			}
			for _, want := range c.ExpectedContains {
				require.False(t, ContainsWord(told, want), "%s: %q", key, want)
			}
			for _, any := range c.ExpectedAny {
				if !slices.Contains(any, "refused") && !slices.Contains(any, "拒绝") {
					require.False(t, slices.ContainsFunc(any, func(want string) bool { return ContainsWord(told, want) }), "%s: %q", key, any)
				}
			}
		}
	}
	require.Equal(t, 4, remembered)
}

// TestSuitesCoverTheKinds sees every kind of task in every suite that is to have it, and what keeps each kind honest.
func TestSuitesCoverTheKinds(t *testing.T) {
	t.Parallel()
	full := map[string]int{"W1": 1, "W2": 1, "W3": 1, "W4": 2, "W5": 1, "W6": 1, "W7": 1, "W8": 1}
	natural := []string{
		"W1", "W2", "W3", "W4", "W5", "W6", "W7", "W8", "direct", "refusal", "log_errors", "config", "listing", "compare", "csv", "json", "shell", "counting",
	}
	names := toolNames(t)
	for _, name := range handMadeSuites {
		s, err := Load(filepath.Join("workloads", name+".json"), names...)
		require.NoError(t, err)
		require.Equal(t, []int{42, 1, 5}, []int{s.Seed, s.WarmupRuns, s.MeasuredRuns}, name)
		kinds := map[string]int{}
		for _, c := range s.Cases {
			key := name + "/" + c.ID
			kinds[c.Category]++
			require.Equal(t, strings.HasSuffix(name, "_zh"), c.language() == languages()["zh"], key)
			switch c.Category {
			case "direct", "W7":
				require.Equal(t, 0, *c.MaxToolCalls, key)
			case "refusal", "W6":
				require.True(t, c.FixturesUnchanged, key)
				require.NotEmpty(t, c.ExpectedAny, key)
				fallthrough
			case "listing": // the names of files are known before any call
			default:
				require.Positive(t, c.MinToolCalls, key)
			}
			if c.Category == "W7" {
				require.Len(t, c.Turns, 8, key)
			}
			if strings.HasPrefix(name, "natural") {
				for _, tool := range names {
					require.NotContains(t, strings.Join(append(c.Turns, c.Goal), "\n"), tool, key)
				}
			}
		}
		switch {
		case strings.HasPrefix(name, "natural"):
			require.GreaterOrEqual(t, len(s.Cases), 16, name)
			for _, kind := range natural {
				require.Positive(t, kinds[kind], "%s %s", name, kind)
			}
		case strings.HasPrefix(name, "r0_full"):
			require.Equal(t, full, kinds, name)
		}
	}
}
