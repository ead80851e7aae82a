package logline

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLinesInTheCommonForms(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		form    Form
		level   Level
		stamp   string // "" when there is none, "?" when it is no time
		message string
	}{
		// Plain text.
		"2026-01-05T10:04:11Z ERROR disk full":                            {Text, Error, "2026-01-05 10:04:11Z", "disk full"},
		"2026-01-05T10:04:11.123456789+03:00 warn low":                    {Text, Warn, "2026-01-05 10:04:11.123456789+03:00", "low"},
		"2026-01-05 10:04:11,120 ERROR [worker-3] com.shop.Db - gone":     {Text, Error, "2026-01-05 10:04:11.12", "com.shop.Db - gone"},
		"2026-01-05 10:04:11.120  INFO 4711 --- [main] c.shop.App : up":   {Text, Info, "2026-01-05 10:04:11.12", "4711 --- [main] c.shop.App : up"},
		"2026-01-05 10:04:11,120 [main] WARN com.shop.Db - slow":          {Text, Warn, "2026-01-05 10:04:11.12", "com.shop.Db - slow"},
		"2026-01-05 10:04:11,120 - root - CRITICAL - lost":                {Text, Fatal, "2026-01-05 10:04:11.12", "lost"},
		"2026-01-05 10:04:11.120 UTC [88] ERROR:  relation missing":       {Text, Error, "2026-01-05 10:04:11.12Z", "relation missing"},
		"2026-01-05T10:04:11.5Z 0 [Warning] [MY-010] [Server] old":        {Text, Warn, "2026-01-05 10:04:11.5Z", "old"},
		"2026-01-05T10:04:11.000+0300\tDEBUG\tcache/lru.go:12\thit":       {Text, Debug, "2026-01-05 10:04:11+03:00", "cache/lru.go:12\thit"},
		"2026-01-05 10:04:11 +0300 ERROR late":                            {Text, Error, "2026-01-05 10:04:11+03:00", "late"},
		"2026-01-05 10:04:11 - 12 items done":                             {Text, NoLevel, "2026-01-05 10:04:11", "12 items done"},
		"2026/01/05 10:04:11 ERROR boom":                                  {Text, Error, "2026-01-05 10:04:11", "boom"},
		"2026/01/05 10:04:11.000042 main.go:12: started":                  {Text, NoLevel, "2026-01-05 10:04:11.000042", "main.go:12: started"},
		"2026/01/05 10:04:11 [error] 12#0: *1 connect() failed":           {Text, Error, "2026-01-05 10:04:11", "12#0: *1 connect() failed"},
		"[2026-01-05 10:04:11] production.ERROR: no route":                {Text, Error, "2026-01-05 10:04:11", "no route"},
		"[2026-01-05T10:04:11Z INFO  app::db] ready":                      {Text, Info, "2026-01-05 10:04:11Z", "app::db] ready"},
		"[Fri Sep 09 10:42:29.902022 2011] [core:error] [pid 3:tid 4] no": {Text, Error, "2011-09-09 10:42:29.902022", "no"},
		"[   12.345678] usb 1-1: new device":                              {Text, NoLevel, "?", "usb 1-1: new device"},
		"[ERROR] build failed":                                            {Text, Error, "", "build failed"},
		"[warn] 2026-01-05 10:04:11 late":                                 {Text, Warn, "2026-01-05 10:04:11", "late"},
		"ERROR after":                                                     {Text, Error, "", "after"},
		"ERROR:root:division by zero":                                     {Text, Error, "", "root:division by zero"},
		"WARN  [2026-01-05 10:04:11,5] low":                               {Text, Warn, "2026-01-05 10:04:11.5", "low"},
		"ERRO[0012] cannot dial":                                          {Text, Error, "", "cannot dial"},
		"10:04:11.120 [main] ERROR Db - gone":                             {Text, Error, "1970-01-01 10:04:11.12", "Db - gone"},
		"05-Jan-2026 10:04:11.120 SEVERE [main] org.apache.Boot failed":   {Text, Error, "2026-01-05 10:04:11.12", "org.apache.Boot failed"},
		"05.01.2026 10:04:11 FEHLER":                                      {Text, NoLevel, "2026-01-05 10:04:11", "FEHLER"},
		"01/05/2026 10:04:11 ERROR which day":                             {Text, Error, "?", "which day"},
		"01/25/2026 10:04:11 ERROR that day":                              {Text, Error, "2026-01-25 10:04:11", "that day"},
		"20260105 10:04:11 ERROR x":                                       {Text, Error, "2026-01-05 10:04:11", "x"},
		"20260105T100411Z ERROR x":                                        {Text, Error, "2026-01-05 10:04:11Z", "x"},
		"1767607451 ERROR x":                                              {Text, Error, "2026-01-05 10:04:11Z", "x"},
		"1767607451.250 ERROR x":                                          {Text, Error, "2026-01-05 10:04:11.25Z", "x"},
		"1767607451120 INFO x":                                            {Text, Info, "2026-01-05 10:04:11.12Z", "x"},
		"web_1  | 2026-01-05T10:04:11Z ERROR in a container":              {Text, Error, "2026-01-05 10:04:11Z", "in a container"},
		"web_1  | ERROR without stamp":                                    {Text, Error, "", "without stamp"},
		"2026-01-05T10:04:11.1Z stderr F ERROR of a pod":                  {Text, Error, "2026-01-05 10:04:11.1Z", "of a pod"},
		"2026-01-05 10:04:11 level=error msg=x":                           {Text, Error, "2026-01-05 10:04:11", "msg=x"},
		"E, [2026-01-05T10:04:11.000001 #7] ERROR -- : ruby":              {Text, Error, "2026-01-05 10:04:11.000001", "ruby"},
		"8:M 05 Jan 2026 10:04:11.120 # memory low":                       {Text, Warn, "2026-01-05 10:04:11.12", "memory low"},
		"2026-01-05T10:04:11Z \x1b[31mERROR\x1b[0m red":                   {Text, Error, "2026-01-05 10:04:11Z", "red"},
		"\x1b[31mERROR\x1b[0m red":                                        {Text, Error, "", "red"},
		"\x1b[90m2026-01-05T10:04:11Z\x1b[0m \x1b[32mINF\x1b[0m green":    {Text, Info, "2026-01-05 10:04:11Z", "green"},
		"  2026-01-05 10:04:11 ERROR indented":                            {Text, Error, "2026-01-05 10:04:11", "indented"},
		"2026-01-05 10:04:11 INFO retry after error: timeout":             {Text, Info, "2026-01-05 10:04:11", "retry after error: timeout"},
		"2026-01-05 10:04:11 the word error is deep in it":                {Text, NoLevel, "2026-01-05 10:04:11", "the word error is deep in it"},
		"2026-02-30 10:04:11 ERROR no such day":                           {Text, Error, "", "no such day"},
		"ABC 2026-01-05 10:04:11 ERROR late stamp":                        {Text, Error, "2026-01-05 10:04:11", "late stamp"},
		"2026-01-05 10:04:11 <Error> node: down":                          {Text, Error, "2026-01-05 10:04:11", "node: down"},

		"2026-01-05 10:04:11 config loaded":         {Text, NoLevel, "2026-01-05 10:04:11", "config loaded"},
		"2026-01-05 10:04:11 alert rule fired":      {Text, NoLevel, "2026-01-05 10:04:11", "alert rule fired"},
		"2026-01-05 10:04:11 reloaded CONFIG twice": {Text, NoLevel, "2026-01-05 10:04:11", "reloaded CONFIG twice"},
		"2026-01-05 10:04:11 CONFIG [main] loading": {Text, Debug, "2026-01-05 10:04:11", "loading"},
		"2026-01-05 10:04:11 panic: nil map":        {Text, Fatal, "2026-01-05 10:04:11", "nil map"},
		"2026-01-05 10:04:11 [alert] 12#0: gone":    {Text, Fatal, "2026-01-05 10:04:11", "12#0: gone"},
		"2026-01-05 10:04:11 Warning: disk is slow": {Text, Warn, "2026-01-05 10:04:11", "disk is slow"},
		"{main} 2026-01-05 10:04:11 ERROR braces":   {Text, Error, "2026-01-05 10:04:11", "braces"},

		// Syslog, klog, logcat.
		"Jan  5 10:04:11 host sshd[42]: Failed password":       {Text, NoLevel, "1972-01-05 10:04:11", "sshd[42]: Failed password"},
		"Jan  5 10:04:11 host app[42]: ERROR boom":             {Text, Error, "1972-01-05 10:04:11", "boom"},
		"<11>Jan  5 10:04:11 host app[42]: boom":               {Text, Error, "1972-01-05 10:04:11", "app[42]: boom"},
		"<165>1 2003-10-11T22:14:15.003Z host app - ID47 - up": {Text, Info, "2003-10-11 22:14:15.003Z", "app - ID47 - up"},
		"<999>no priority": {Unknown, NoLevel, "", ""},
		"E0105 10:04:11.120000   12 pod.go:56] crashed":      {Text, Error, "1972-01-05 10:04:11.12", "crashed"},
		"I20260105 10:04:11.120000 12 pod.go:56] up":         {Text, Info, "2026-01-05 10:04:11.12", "up"},
		"01-05 10:04:11.120  1234  5678 E Camera: no device": {Text, Error, "1972-01-05 10:04:11.12", "Camera: no device"},
		"Mon Jan  5 10:04:11 2026 [warn] cold":               {Text, Warn, "2026-01-05 10:04:11", "cold"},
		"Mon, 05 Jan 2026 10:04:11 GMT ERROR x":              {Text, Error, "2026-01-05 10:04:11Z", "x"},
		"Feb 29 10:04:11 host app: leap":                     {Text, NoLevel, "1972-02-29 10:04:11", "app: leap"},

		// Web servers.
		`127.0.0.1 - - [05/Jan/2026:10:04:11 -0700] "GET /a HTTP/1.1" 502 23`:      {Access, Error, "2026-01-05 10:04:11-07:00", `"GET /a HTTP/1.1" 502`},
		`::1 - bob [05/Jan/2026:10:04:11 +0000] "GET /a \"b\" HTTP/1.1" 404 - "-"`: {Access, Warn, "2026-01-05 10:04:11Z", `"GET /a \"b\" HTTP/1.1" 404`},
		`example.org 10.0.0.1 - - [05/Jan/2026:10:04:11 +0000] "-" 200 0`:          {Access, Info, "2026-01-05 10:04:11Z", `"-" 200`},

		// JSON.
		`{"time":"2026-01-05T10:04:11Z","level":"ERROR","msg":"disk full","code":"E42"}`:                {JSON, Error, "2026-01-05 10:04:11Z", "disk full"},
		`{"ts":1767607451.25,"severity":"warning","message":"a \"quoted\" \u00e9"}`:                     {JSON, Warn, "2026-01-05 10:04:11.25Z", `a "quoted" é`},
		`{"level":50,"time":1767607451120,"pid":1,"msg":"pino"}`:                                        {JSON, Error, "2026-01-05 10:04:11.12Z", "pino"},
		`{"@timestamp":"2026-01-05T10:04:11.1+03:00","log.level":"info","message":"ecs"}`:               {JSON, Info, "2026-01-05 10:04:11.1+03:00", "ecs"},
		`{"t":{"$date":"2026-01-05T10:04:11.120Z"},"s":"E","c":"NETWORK","msg":"mongo"}`:                {JSON, Error, "2026-01-05 10:04:11.12Z", "mongo"},
		`{"log":"2026-01-05 10:04:11 ERROR wrapped\n","stream":"stderr","time":"2026-01-05T10:04:11Z"}`: {JSON, Error, "2026-01-05 10:04:11Z", "2026-01-05 10:04:11 ERROR wrapped\n"},
		`{ "timestamp" : "2026-01-05 10:04:11" , "nested" : {"a":["}"]} , "level" : "Debug" }`:          {JSON, Debug, "2026-01-05 10:04:11", `"timestamp" : "2026-01-05 10:04:11" , "nested" : {"a":["}"]} , "level" : "Debug" `},
		`{"time":"2026-01-05T10:04:11Z","level":"error","error":"no msg key"}`:                          {JSON, Error, "2026-01-05 10:04:11Z", "no msg key"},
		`{"a":1}`:                         {Unknown, NoLevel, "", ""},
		`{"level":"error","msg":"cut of`:  {Unknown, NoLevel, "", ""},
		`{"level":"error"} trailing`:      {Unknown, NoLevel, "", ""},
		`{"level":"error","msg":"b\\\\"}`: {JSON, Error, "", `b\\`},

		// logfmt.
		`time="2026-01-05T10:04:11Z" level=error msg="disk \"full\"" node=n3`: {Logfmt, Error, "2026-01-05 10:04:11Z", `disk "full"`},
		`level=INFO msg=up`:               {Logfmt, Info, "", "up"},
		`ts=2026-01-05T10:04:11Z a=b c=d`: {Logfmt, NoLevel, "2026-01-05 10:04:11Z", "a=b c=d"},
		`a=b c=d`:                         {Unknown, NoLevel, "", ""},

		// No records.
		"plain words":                            {Unknown, NoLevel, "", ""},
		"\tat com.shop.Db.take(Db.java:12)":      {Unknown, NoLevel, "", ""},
		"java.io.IOException: ERROR in the pipe": {Unknown, NoLevel, "", ""},
		"Caused by: ERROR":                       {Unknown, NoLevel, "", ""},
		"Traceback (most recent call last):":     {Unknown, NoLevel, "", ""},
		"Error handling is described below":      {Unknown, NoLevel, "", ""},
		"12 items":                               {Unknown, NoLevel, "", ""},
		"":                                       {Unknown, NoLevel, "", ""},
		" ":                                      {Unknown, NoLevel, "", ""},
	} {
		l := Parse([]byte(line))
		require.Equal(t, want.form, l.Form, "%q", line)
		require.Equal(t, want.level.String(), l.Level.String(), "%q", line)
		switch want.stamp {
		case "":
			require.Zero(t, l.Stamp.End, "%q", line)
		case "?":
			require.Positive(t, l.Stamp.End, "%q", line)
			require.False(t, l.Stamp.Known(), "%q", line)
		default:
			require.True(t, l.Stamp.Known(), "%q", line)
			require.Equal(t, want.stamp, l.Stamp.String(), "%q", line)
		}
		require.Equal(t, want.message, string(l.MessageText([]byte(line))), "%q", line)
	}
}
