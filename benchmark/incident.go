package benchmark

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Names of the files of an incident.
const (
	incidentLogPath    = "logs/dispatch.log"
	incidentDBPath     = "dispatch.db"
	incidentConfigPath = "config/dispatch.toml"
)

// incidentTexts are the words of an incident in one language.
type incidentTexts struct {
	Customers []string `json:"customers"`
	Cities    []string `json:"cities"`
	Delivered string   `json:"delivered"` // messages of the log
	Accepted  string   `json:"accepted"`
	Slow      string   `json:"slow"`   // {ms}
	Label     string   `json:"label"`  // of the other kind of error
	Failed    string   `json:"failed"` // of the error that the incident is about; {ms}
	Config    []string `json:"config"` // lines; {port}, {old}, {pool}, {ms}, {nodes}
}

// incident is a night at a service that dispatches parcels: somebody has lowered a limit in its configuration, one node runs
// into it and logs errors, and the shipments there stay stalled in its database. The three files agree in every detail: each
// shipment of the database has its lines in the log, the last of them at the time that the database has.
type incident struct {
	texts *incidentTexts
	rng   *rand.Rand

	nodes     []string
	node      string // where it happens
	code      string // of its errors
	port      int
	old, pool int // the limit before and since
	ms        int // how long a request waits for a connection

	customers []string
	cities    []string
	shipments []shipment
	lines     []logLine
}

type shipment struct {
	reference string
	customer  int // index
	node      string
	status    string
	weight    float64 // kg
	updated   time.Time
}

type logLine struct {
	at   time.Time
	text string
}

// newIncident makes up what happened. The same seed and name give the same incident.
func newIncident(seed int, name string, l *language) *incident {
	rng := random(seed, name, "incident")
	in := &incident{
		texts: &l.Incident, rng: rng,
		nodes: []string{"relay-1", "relay-2", "relay-3", "relay-4"},
		code:  []string{"CONN_LIMIT", "LEASE_DENIED", "SLOT_TIMEOUT", "POOL_STARVED"}[rng.IntN(4)],
		port:  7000 + rng.IntN(2000), old: 10 * (4 + rng.IntN(5)), pool: 3 + rng.IntN(4), ms: 100 * (12 + rng.IntN(20)),
	}
	in.node = in.nodes[rng.IntN(len(in.nodes))]
	for _, i := range rng.Perm(len(l.Incident.Customers))[:8] {
		in.customers = append(in.customers, l.Incident.Customers[i])
		in.cities = append(in.cities, l.Incident.Cities[rng.IntN(len(l.Incident.Cities))])
	}
	in.ship()
	slices.SortStableFunc(in.lines, func(a, b logLine) int { return a.at.Compare(b.at) })
	return in
}

// Counts of an incident, chosen so that no two that a case may ask for can be the same number: the limit is below 7, one
// customer has 7 to 9 stalled shipments of 14 to 19, and there are 28 errors or more.
const (
	quietShipments = 55
	worstStalled   = 7
)

// ship makes the shipments of the night and their lines.
func (in *incident) ship() {
	midnight := time.Date(2031, time.March, 4, 0, 0, 0, 0, time.UTC)
	references := in.rng.Perm(9000)
	next := func() string {
		r := references[0]
		references = references[1:]
		return fmt.Sprintf("SHP-%04d", 1000+r)
	}
	// Every few minutes something happens somewhere, before the incident, beside it, and after it.
	at := midnight
	for i := range quietShipments {
		at = at.Add(time.Duration(120+in.rng.IntN(480)) * time.Second)
		s := shipment{
			reference: next(), customer: in.rng.IntN(len(in.customers)), node: in.nodes[in.rng.IntN(len(in.nodes))],
			status: "delivered", weight: in.weight(), updated: at,
		}
		message := in.texts.Delivered
		if i%4 == 3 {
			s.status, message = "in_transit", in.texts.Accepted
		}
		if i%12 == 5 { // a label is read at the second try
			in.log(at.Add(-40*time.Second), "ERROR", s, "LABEL_UNREADABLE", in.texts.Label)
		}
		if i%9 == 7 {
			in.log(at.Add(-25*time.Second), "WARN", s, "", strings.ReplaceAll(in.texts.Slow, "{ms}", strconv.Itoa(300+in.rng.IntN(600))))
		}
		in.log(at, "INFO", s, "", message)
		in.shipments = append(in.shipments, s)
	}
	worst := in.rng.IntN(len(in.customers))
	owners := slices.Repeat([]int{worst}, worstStalled+in.rng.IntN(3))
	for i := range 7 + in.rng.IntN(4) {
		owners = append(owners, (worst+1+i%(len(in.customers)-1))%len(in.customers))
	}
	in.rng.Shuffle(len(owners), func(i, j int) { owners[i], owners[j] = owners[j], owners[i] })
	at = midnight.Add(2*time.Hour + time.Duration(in.rng.IntN(1200))*time.Second)
	for i, owner := range owners {
		s := shipment{reference: next(), customer: owner, node: in.node, status: "stalled", weight: in.weight()}
		for range 2 + (i+in.rng.IntN(2))%2 {
			at = at.Add(time.Duration(20+in.rng.IntN(90)) * time.Second)
			s.updated = at
			in.log(at, "ERROR", s, in.code, strings.ReplaceAll(in.texts.Failed, "{ms}", strconv.Itoa(in.ms)))
		}
		in.shipments = append(in.shipments, s)
	}
	slices.SortStableFunc(in.shipments, func(a, b shipment) int { return cmp.Compare(a.reference, b.reference) })
}

// weight is in kilograms, with one digit after the point that is not 0.
func (in *incident) weight() float64 {
	return float64(10*(1+in.rng.IntN(30))+1+in.rng.IntN(9)) / 10
}

func (in *incident) log(at time.Time, level string, s shipment, code, message string) {
	if code != "" {
		code = " code=" + code
	}
	in.lines = append(in.lines, logLine{at, fmt.Sprintf("%s %-5s node=%s%s shipment=%s %s", at.Format(time.RFC3339), level, s.node, code, s.reference, message)})
}

// fixtures are the three files.
func (in *incident) fixtures() ([]Fixture, error) {
	var log strings.Builder
	for _, line := range in.lines {
		log.WriteString(line.text + "\n")
	}
	db, err := databaseFile(in.sql())
	if err != nil {
		return nil, err
	}
	config := strings.NewReplacer(
		"{port}", strconv.Itoa(in.port), "{old}", strconv.Itoa(in.old), "{pool}", strconv.Itoa(in.pool), "{ms}", strconv.Itoa(in.ms),
		"{nodes}", `"`+strings.Join(in.nodes, `", "`)+`"`,
	).Replace(strings.Join(in.texts.Config, "\n") + "\n")
	return []Fixture{{incidentLogPath, log.String()}, {incidentDBPath, string(db)}, {incidentConfigPath, config}}, nil
}

// sql are the statements that fill the database.
func (in *incident) sql() string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	var b strings.Builder
	b.WriteString("BEGIN;\nCREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL);\n" +
		"CREATE TABLE shipments (id INTEGER PRIMARY KEY, reference TEXT NOT NULL UNIQUE, customer_id INTEGER NOT NULL REFERENCES customers(id)," +
		" node TEXT NOT NULL, status TEXT NOT NULL, weight_kg REAL NOT NULL, updated_at TEXT NOT NULL);\n")
	for i, name := range in.customers {
		fmt.Fprintf(&b, "INSERT INTO customers VALUES (%d, %s, %s);\n", i+1, quote(name), quote(in.cities[i]))
	}
	for i, s := range in.shipments {
		fmt.Fprintf(&b, "INSERT INTO shipments VALUES (%d, %s, %d, %s, %s, %.1f, %s);\n",
			i+1, quote(s.reference), s.customer+1, quote(s.node), quote(s.status), s.weight, quote(s.updated.Format(time.RFC3339)))
	}
	b.WriteString("COMMIT;\n")
	return b.String()
}

// facts are what a case can expect, by placeholder.
func (in *incident) facts() map[string]string {
	stalled, errors := make([]int, len(in.customers)), 0
	total := 0
	first := ""
	for _, s := range in.shipments {
		if s.status == "stalled" {
			stalled[s.customer]++
			total++
		}
	}
	for _, line := range in.lines {
		if strings.Contains(line.text, " code="+in.code+" ") {
			errors++
			if first == "" {
				_, after, _ := strings.Cut(line.text, "shipment=")
				first, _, _ = strings.Cut(after, " ")
			}
		}
	}
	weight := ""
	for _, s := range in.shipments {
		if s.reference == first {
			weight = strconv.FormatFloat(s.weight, 'f', 1, 64)
		}
	}
	worst := slices.Index(stalled, slices.Max(stalled))
	return map[string]string{
		"{incident_node}":            in.node,
		"{incident_code}":            in.code,
		"{incident_errors}":          strconv.Itoa(errors), // lines with the code
		"{incident_stalled}":         strconv.Itoa(total),  // shipments
		"{incident_limit}":           strconv.Itoa(in.pool),
		"{incident_port}":            strconv.Itoa(in.port),
		"{incident_customer}":        in.customers[worst], // with the most stalled shipments
		"{incident_customer_count}":  strconv.Itoa(stalled[worst]),
		"{incident_first_shipment}":  first, // with an error of the code
		"{incident_first_weight_kg}": weight,
	}
}
