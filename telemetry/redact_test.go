package telemetry

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestRedactShapes(t *testing.T) {
	t.Parallel()
	const s = "abcdefghijklmnop0123456789" // part of a secret
	for _, test := range [][2]string{
		{"sk-" + s, Redacted},
		{"key sk-proj-" + s + ", next", "key " + Redacted + ", next"},
		{"sk-ant-api03-" + s + "_x-y", Redacted},
		{"ghp_" + s, Redacted},
		{"https://ghp_" + s + "@github.com/x", "https://" + Redacted + "@github.com/x"},
		{"github_pat_" + s + "_" + s, Redacted},
		{"glpat-" + s, Redacted},
		{"AKIAIOSFODNN7EXAMPLE", Redacted},
		{"xoxb-1234567890-" + s, Redacted},
		{"AIzaSy" + s + "ABCDEFGH", Redacted},
		{"hf_" + s + "ABCDEFGH", Redacted},
		{"curl -H 'Authorization: Bearer " + s + "'", "curl -H 'Authorization: Bearer " + Redacted + "'"},
		{"Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic " + Redacted},
		{`{"authorization": "token ` + s + `"}`, `{"authorization": "token ` + Redacted + `"}`},
		{"bearer abc.def-ghi", "bearer " + Redacted},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_DEF-123 end", Redacted + " end"},
		{"a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----\nb", "a\n" + Redacted + "\nb"},
		{"-----BEGIN OPENSSH PRIVATE KEY-----\ncut", Redacted},
		{"password=hunter2 next", "password=" + Redacted + " next"},
		{"PASSWORD = 'a b c'; x", "PASSWORD = " + Redacted + "; x"},
		{`{"api_key": "a \" b", "n": 1}`, `{"api_key": ` + Redacted + `, "n": 1}`},
		{`"{\"api_key\": \"abc def\"}"`, `"{\"api_key\": ` + Redacted + `}"`},
		{"DB_PASSWD=x OPENAI_API_KEY=y", "DB_PASSWD=" + Redacted + " OPENAI_API_KEY=" + Redacted},
		{"client_secret: abc", "client_secret: " + Redacted},
		{"access_token=abc&user=1", "access_token=" + Redacted + "&user=1"},
		{"token=abc", "token=" + Redacted},
		{"x_token: abc", "x_token: " + Redacted},
		{"mysql --password hunter2 -h x", "mysql --password " + Redacted + " -h x"},
		{"--api-key abc", "--api-key " + Redacted},
		{"postgres://me:p@ss:w0rd@db:5432/x?a=1", "postgres://" + Redacted + "@db:5432/x?a=1"},
		{"https://:secret@h/", "https://" + Redacted + "@h/"},
		{`password="not ended`, "password=" + Redacted},

		{"", ""},
		{"read_file", "read_file"},
		{"context_compacted", "context_compacted"},
		{"prompt_tokens=900, max_tokens: 512", "prompt_tokens=900, max_tokens: 512"},
		{"task-list-of-something-quite-long", "task-list-of-something-quite-long"},
		{"artifact://k3v9x2ab", "artifact://k3v9x2ab"},
		{"http://localhost:8080/a@b:c", "http://localhost:8080/a@b:c"},
		{"the secret of the password", "the secret of the password"},
		{"0190b5c8-7f4e-7cc3-98c4-dc0c0c07398f", "0190b5c8-7f4e-7cc3-98c4-dc0c0c07398f"},
		{"你好, é \xff", "你好, é \xff"},
	} {
		require.Equal(t, test[1], Redact(test[0]), "%q", test[0])
	}
}

func TestRedactGivenSecrets(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text    string
		secrets []string
		want    string
	}{
		{"a hunter2 b", []string{"hunter2"}, "a " + Redacted + " b"},
		{"abcdefgh", []string{"abcd", "abcdefgh"}, Redacted},
		{"abcdefgh", []string{"abcdefgh", "abcd"}, Redacted},
		{`{"k":"a\"b\\c"}`, []string{`a"b\c`}, `{"k":"` + Redacted + `"}`},
		{"?q=a%26b%20c", []string{"a&b c"}, "?q=" + Redacted},
		{"?q=a%26b+c", []string{"a&b c"}, "?q=" + Redacted},
		{"line end", []string{"line end\n"}, Redacted},
		{"abc    x", []string{"abc", "", "    ", "\n\n\n\n\n"}, "abc    x"},
		{"sk-abcdefghijklmnop!rest of it", []string{"sk-abcdefghijklmnop!rest of it"}, Redacted},
		{"password=hunter2", []string{"hunter2"}, "password=" + Redacted},
	} {
		require.Equal(t, test.want, Redact(test.text, test.secrets...), "%q", test.text)
	}
}

func TestSecretNames(t *testing.T) {
	t.Parallel()
	for name, secret := range map[string]bool{
		"password": true, "DB_PASSWORD": true, "api_key": true, "apiKey": true, "Authorization": true, "token": true, "x-token": true, "access_token": true,
		"prompt_tokens": false, "tokens": false, "key": false, "status": false, "tokenizer": false, "": false,
	} {
		require.Equal(t, secret, isSecretName.MatchString(name), name)
	}
}

// Neither cut leaves a part of a secret: that of what is looked at, nor that of what is kept.
func TestTextCutsNoSecret(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("0123456789", 600)
	r := newRedactor([]string{secret})
	for at := range 13 {
		// What is before it shrinks, so that the end of what is looked at is within what a record has room for.
		text := strings.Repeat("password="+strings.Repeat("x", 991)+"\n", at) + secret + "."
		require.NotContains(t, r.text(text), "0123", "at %d", at)
	}
	require.NotContains(t, r.text(strings.Repeat("-", maxText-5)+secret), "0123")
	require.Equal(t, strings.Repeat("x", maxText), r.text(strings.Repeat("x", maxText)))
	require.Equal(t, strings.Repeat("x", maxText-3)+"…", r.text(strings.Repeat("x", maxText+1)))
}

// Texts that begin many secrets and end none. Eight times the text may take about eight times as long; the square would be 64.
// Not parallel: other tests would take the time of one of the two.
func TestRedactIsLinear(t *testing.T) {
	secrets := []string{"aaaaaaaaaaaaab", strings.Repeat("a.", 200) + "!"}
	fastest := func(text string) time.Duration {
		best := time.Hour
		for range 3 {
			begun := time.Now()
			Redact(text, secrets...)
			best = min(best, time.Since(begun))
		}
		return best
	}
	for _, s := range []string{"password", "a.", "-----BEGIN PRIVATE KEY-----", `\"`, "eyJaaaaaa.", "x://a:", "--a-", "secret=\"", " "} {
		const small = 6 << 10
		ratio := float64(fastest(strings.Repeat(s, 8*small/len(s)))) / float64(fastest(strings.Repeat(s, small/len(s))))
		require.Less(t, ratio, 40.0, "%q", s)
	}
}

func FuzzRedact(f *testing.F) {
	for _, text := range []string{
		"a hunter2 b", `password="hunter2`, "https://u:hunter2@h", "sk-hunter2hunter2hunter2", "hunhunter2ter2", "\xffhunter2\x00", "-----BEGIN PRIVATE KEY-----hunter2",
	} {
		f.Add(text, "hunter2", "other secret")
	}
	f.Fuzz(func(t *testing.T, text, a, b string) {
		r := newRedactor([]string{a, b})
		for _, s := range []string{Redact(text, a, b), r.text(text), r.text(text + a + b), Redact(a+text+b, a, b)} {
			for _, secret := range []string{a, b} {
				// A secret that is written like the mark itself cannot be told from it.
				if len(secret) < minSecret || strings.TrimSpace(secret) == "" || strings.ContainsAny(secret, "[]…\ufffd") || strings.Contains(Redacted, secret) {
					continue
				}
				if strings.Contains(s, secret) {
					t.Fatalf("%q leaves %q in %q", text, secret, s)
				}
			}
		}
		if kept := r.text(text); len(kept) > maxText || !utf8.ValidString(kept) {
			t.Fatalf("%d bytes: %q", len(kept), kept)
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	r := newRedactor([]string{"hunter2hunter2", "correct horse"})
	for name, text := range map[string]string{
		"name": "executor", "event": "context_compacted", "error": "opening /data/notes/2024.md: no such file or directory", "long": strings.Repeat("some words of a log ", 1000),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r.text(text)
			}
		})
	}
}

func BenchmarkInference(b *testing.B) {
	r, err := Open(b.TempDir(), Options{SampleInterval: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close(b.Context())
	task := r.Task("0190b5c8-7f4e-7cc3-98c4-dc0c0c07398f")
	for b.Loop() {
		task.Inference("executor", Inference{PromptTokens: 900, FinishReason: "tool_calls"})
	}
}

func BenchmarkSample(b *testing.B) {
	m := newMeter()
	defer m.close()
	for b.Loop() {
		m.measure()
	}
}
