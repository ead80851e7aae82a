package benchmark

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// incidentIn writes the files of an incident and opens its database.
func incidentIn(t require.TestingT, folder string, seed int, goal string) (c Case, db *sql.DB) {
	s, err := parse([]byte(`{"name":"x","cases":[{"case_id":"a","goal":"` + goal + `","metadata":{"incident_fixture":true,"document_fixture":true}}]}`))
	require.NoError(t, err)
	c = s.Cases[0]
	require.NoError(t, c.writeFixtures(folder, "", seed))
	db, err = sql.Open("sqlite", "file:"+filepath.Join(folder, incidentDBPath)+"?mode=ro")
	require.NoError(t, err)
	return c, db
}

var incidentLine = regexp.MustCompile(`^(\S+) (INFO |WARN |ERROR) node=(\S+)(?: code=(\S+))? shipment=(SHP-\d{4}) \S.*$`)

// TestIncidentsAreConsistent sees that the log, the database and the configuration tell the same story, whatever the seed.
func TestIncidentsAreConsistent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		goal := rapid.SampledFrom([]string{"g", "怎么了"}).Draw(rt, "goal")
		folder, err := os.MkdirTemp("", "incident")
		require.NoError(rt, err)
		defer func() { require.NoError(rt, os.RemoveAll(folder)) }()
		seed := rapid.Int().Draw(rt, "seed")
		c, db := incidentIn(rt, folder, seed, goal)
		defer func() { require.NoError(rt, db.Close()) }()
		facts := newIncident(seed, c.ID, c.language()).facts()

		// The log, by shipment.
		type told struct {
			node, last string
			failed     int
		}
		shipments := map[string]*told{}
		errors, other, previous := 0, 0, time.Time{}
		log, err := os.ReadFile(filepath.Join(folder, incidentLogPath))
		require.NoError(rt, err)
		for line := range strings.Lines(string(log)) {
			found := incidentLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			require.NotNil(rt, found, line)
			at, err := time.Parse(time.RFC3339, found[1])
			require.NoError(rt, err)
			require.False(rt, at.Before(previous), "the log goes on in time")
			previous = at
			s := shipments[found[5]]
			if s == nil {
				s = &told{node: found[3]}
				shipments[found[5]] = s
			}
			require.Equal(rt, s.node, found[3])
			s.last = found[1]
			switch {
			case found[4] == facts["{incident_code}"]:
				require.Equal(rt, facts["{incident_node}"], found[3])
				s.failed++
				errors++
			case found[4] != "":
				other++
			}
		}
		require.Greater(rt, errors, 3*other, "it is plain which error matters")
		require.Equal(rt, facts["{incident_errors}"], strconv.Itoa(errors))

		// The database, beside it.
		rows, err := db.Query(`SELECT reference, node, status, updated_at FROM shipments`)
		require.NoError(rt, err)
		defer func() { require.NoError(rt, rows.Close()) }()
		n, stalled := 0, 0
		for rows.Next() {
			var reference, node, status, updated string
			require.NoError(rt, rows.Scan(&reference, &node, &status, &updated))
			s := shipments[reference]
			require.NotNil(rt, s, "%s is in the log", reference)
			require.Equal(rt, s.node, node)
			require.Equal(rt, s.last, updated)
			require.Equal(rt, s.failed > 0, status == "stalled", reference)
			if status == "stalled" {
				stalled++
			}
			n++
		}
		require.NoError(rt, rows.Err())
		require.Len(rt, shipments, n, "what is in the log is in the database")
		require.Equal(rt, facts["{incident_stalled}"], strconv.Itoa(stalled))

		// The configuration.
		toml, err := os.ReadFile(filepath.Join(folder, incidentConfigPath))
		require.NoError(rt, err)
		require.Contains(rt, string(toml), "\nmax_connections = "+facts["{incident_limit}"]+"\n")
		require.Contains(rt, string(toml), "\nport = "+facts["{incident_port}"]+"\n")
		require.Contains(rt, string(toml), `"`+facts["{incident_node}"]+`"`)
		require.NotContains(rt, string(toml), "{")

		// No two values that a case may ask for are the same, so none is right by accident.
		seen := map[string]string{}
		for _, name := range sortedKeys(facts) {
			require.Empty(rt, seen[facts[name]], "%s is %s, too", name, facts[name])
			seen[facts[name]] = name
		}
		require.Less(rt, len(log), 16<<10, "it fits into any context")
	})
}

// TestIncidentFacts finds the facts that need the database in it.
func TestIncidentFacts(t *testing.T) {
	t.Parallel()
	for _, goal := range []string{"g", "怎么了"} {
		folder := t.TempDir()
		c, db := incidentIn(t, folder, 7, goal)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		facts := newIncident(7, c.ID, c.language()).facts()
		require.Equal(t, incidentCustomer(t, folder), facts["{incident_customer}"])
		require.Equal(t, incidentCustomerCount(t, folder), facts["{incident_customer_count}"])
		shipment := first(incidentLogPath, `code=`+facts["{incident_code}"]+` shipment=(\S+)`)(t, folder)
		require.Equal(t, shipment, facts["{incident_first_shipment}"])
		require.Equal(t, query(incidentDBPath, `SELECT weight_kg FROM shipments WHERE reference = '`+shipment+`'`)(t, folder), facts["{incident_first_weight_kg}"])
	}
}

// TestMadeUpFilesStayTheSame pins the bytes of texts, and the content of the database, whose bytes change with SQLite.
func TestMadeUpFilesStayTheSame(t *testing.T) {
	t.Parallel()
	made := func(seed int, goal string) (files []Fixture) {
		c := parsed(t, `{"case_id":"a","goal":"`+goal+`","metadata":{"incident_fixture":true,"document_fixture":true}}`)
		files, err := c.Fixtures(seed)
		require.NoError(t, err)
		return files
	}
	require.Equal(t, made(42, "g"), made(42, "g"), "the same bytes, those of the database too")
	require.NotEqual(t, made(42, "g"), made(43, "g"))
	sum := sha256.New()
	for _, goal := range []string{"g", "水"} {
		files := made(42, goal)
		require.Len(t, files, 4)
		for _, f := range files {
			if f.Path == incidentDBPath {
				f.Text = newIncident(42, "a", languageOf(goal)).sql()
			}
			sum.Write([]byte(f.Path + f.Text))
		}
	}
	require.Equal(t, "7d5b9a91b329ccefa90b636ad28a12602e714d3550d7d59a93a7f34745db00ed", hex.EncodeToString(sum.Sum(nil)))
}

// TestDocuments sees a handbook of a few KiB with each fact in it once.
func TestDocuments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := languages()[rapid.SampledFrom([]string{"en", "zh"}).Draw(t, "language")]
		d := newDocument(rapid.Int().Draw(t, "seed"), rapid.String().Draw(t, "name"), l)
		require.Greater(t, len(d.text), 1500)
		require.Less(t, len(d.text), 6000)
		require.Equal(t, len(l.Document.Sections), strings.Count(d.text, "\n## "))
		require.NotContains(t, d.text, "{")
		require.Len(t, d.facts, 6)
		for _, name := range sortedKeys(d.facts) {
			require.Equal(t, 1, strings.Count(d.text, d.facts[name]), "%s %s", name, d.facts[name])
		}
	})
}
