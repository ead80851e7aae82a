package benchmark

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// parsed reads a case as a suite would.
func parsed(t *testing.T, text string) Case {
	t.Helper()
	s, err := parse([]byte(`{"name":"made","cases":[` + text + `]}`))
	require.NoError(t, err)
	return s.Cases[0]
}

func TestPlaceholders(t *testing.T) {
	t.Parallel()
	c := parsed(t, `{"case_id":"a","goal":"{medium_file_2}, {fixture_path} and {other}","expected_contains":["{medium_file_1}"],"expected_any":[["{fixture_path}"]],
		"metadata":{"fixture_size_bytes":2000,"fixture_marker":"see {medium_file_1}","medium_file_markers":["a <b> & c","{fixture_path} q"],
		"fixture_files":{"x.json":"{\"k\": \"{medium_file_2}\"}"}}}`)
	require.Equal(t, "site-02.md, journal.txt and {other}", c.Goal)
	require.Equal(t, []string{"site-01.md"}, c.ExpectedContains)
	require.Equal(t, [][]string{{"journal.txt"}}, c.ExpectedAny)
	require.Equal(t, "see site-01.md", c.Metadata.FixtureMarker)
	require.Equal(t, []string{"a <b> & c", "journal.txt q"}, c.Metadata.MediumFileMarkers)
	require.Equal(t, Texts{"x.json": `{"k": "site-02.md"}`}, c.Metadata.FixtureFiles)
	require.Equal(t, 2, c.Metadata.MediumFileCount)
	require.Equal(t, 6000, c.Metadata.MediumFileSizeBytes)
	require.Equal(t, End, c.Metadata.FixtureMarkerPosition)

	c = parsed(t, `{"case_id":"a","turns":["x {fixture_path}","y"],"metadata":{"fixture_size_bytes":2000,"fixture_marker":"m"}}`)
	require.Equal(t, []string{"x journal.txt", "y"}, c.Turns)
	c = parsed(t, `{"case_id":"a","metadata":{"conversation_seed_turn":"{medium_file_1}","conversation_filler_turns":8,"conversation_correction_turn":"{medium_file_1}!",
		"conversation_final_turns":[{"question_id":"q","text":"{medium_file_1}?","expected_contains":["{medium_file_1}"]}],"medium_file_markers":["m"]}}`)
	require.Equal(t, "site-01.md", c.Metadata.ConversationSeedTurn)
	require.Equal(t, "site-01.md!", c.Metadata.ConversationCorrectionTurn)
	require.Equal(t, 5, c.Metadata.ConversationCorrectionAfter)
	require.Equal(t, 160, c.Metadata.ConversationFillerChars)
	require.Equal(t, Question{ID: "q", Text: "site-01.md?", ExpectedContains: []string{"site-01.md"}}, c.Metadata.ConversationFinalTurns[0])
}

func TestBadCasesAreNamed(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		`"case_id":"../a","goal":"g"`:                                         "case_id must be",
		`"goal":"g","turns":["t"]`:                                            "exclude each other",
		`"turns":["t"," "]`:                                                   "turns has an empty turn",
		`"goal":"g","max_tool_calls_per_turn":[1,2]`:                          "has 2 numbers for 1 turns",
		`"goal":"g","max_tool_calls_per_turn":[-1]`:                           "negative",
		`"goal":"{medium_file_3}","metadata":{"medium_file_markers":["m"]}`:   "{medium_file_3} stands for no file",
		`"goal":"{fixture_path}"`:                                             "{fixture_path} stands for no file",
		`"goal":"{log_path}"`:                                                 "{log_path} stands for no file",
		`"goal":"g","metadata":{"fixture_marker":"m"}`:                        "needs fixture_size_bytes",
		`"goal":"g","metadata":{"fixture_size_bytes":2000}`:                   "fixture_marker must be one line",
		`"goal":"g","metadata":{"fixture_size_bytes":9,"fixture_marker":"m"}`: "fixture_size_bytes is 9",
		`"goal":"g","metadata":{"fixture_size_bytes":2000,"fixture_marker":"m","fixture_marker_position":"start"}`:                                     `fixture_marker_position is "start"`,
		`"goal":"g","metadata":{"fixture_size_bytes":2000,"fixture_marker":"a\nb"}`:                                                                    "fixture_marker must be one line",
		`"goal":"g","metadata":{"medium_file_fixture_count":2,"medium_file_markers":["m"]}`:                                                            "count is 2, but medium_file_markers has 1",
		`"goal":"g","metadata":{"medium_file_fixture_count":-1}`:                                                                                       "count is -1",
		`"goal":"g","metadata":{"medium_file_size_bytes":6000}`:                                                                                        "needs medium_file_markers",
		`"goal":"g","metadata":{"medium_file_size_bytes":60,"medium_file_markers":["m"]}`:                                                              "medium_file_size_bytes is 60",
		`"goal":"g","metadata":{"medium_file_markers":["m","m"]}`:                                                                                      "medium_file_markers[1] is there twice",
		`"goal":"g","metadata":{"medium_file_markers":[""]}`:                                                                                           "medium_file_markers[0] must be one line",
		`"goal":"g","metadata":{"fixture_files":{"../x":""}}`:                                                                                          `"../x" is no clean relative path`,
		`"goal":"g","metadata":{"fixture_files":{"a//x":""}}`:                                                                                          `"a//x" is no clean relative path`,
		`"goal":"g","metadata":{"fixture_files":{"site-01.md":""},"medium_file_markers":["m"]}`:                                                        `"site-01.md" is also`,
		`"goal":"g","metadata":{"fixture_dir":"../x"}`:                                                                                                 "no path inside the repository",
		`"goal":"g","metadata":{"conversation_final_turn":"x"}`:                                                                                        "no conversation_seed_turn",
		`"metadata":{"conversation_seed_turn":"x"}`:                                                                                                    "either conversation_final_turn or",
		`"metadata":{"conversation_seed_turn":"x","conversation_final_turn":"y","conversation_filler_turns":9999}`:                                     "conversation_filler_turns is 9999",
		`"metadata":{"conversation_seed_turn":"x","conversation_final_turn":"y","conversation_filler_chars":99}`:                                       "needs conversation_filler_turns",
		`"metadata":{"conversation_seed_turn":"x","conversation_final_turn":"y","conversation_correction_after":1}`:                                    "needs conversation_correction_turn",
		`"metadata":{"conversation_seed_turn":"x","conversation_final_turn":"y","conversation_filler_turns":2,"conversation_filler_chars":2}`:          "conversation_filler_chars is 2",
		`"metadata":{"conversation_seed_turn":"x","conversation_final_turn":"y","conversation_correction_turn":"z","conversation_correction_after":2}`: "conversation_correction_after is 2",
		`"metadata":{"conversation_seed_turn":"x","conversation_final_turns":[{"question_id":"a/b","text":"y"}]}`:                                      "question_id must be",
		`"metadata":{"conversation_seed_turn":"x","conversation_final_turns":[{"question_id":"a"}]}`:                                                   "text is missing",
		`"metadata":{"conversation_seed_turn":"x","conversation_final_turns":[{"question_id":"a","text":"y"},{"question_id":"a","text":"z"}]}`:         `question_id "a" is there twice`,
	} {
		if !strings.Contains(text, `"case_id"`) {
			text = `"case_id":"a",` + text
		}
		_, err := parse([]byte(`{"name":"x","cases":[{` + text + `}]}`))
		require.ErrorContains(t, err, why, text)
		require.ErrorContains(t, err, `line 1: case "`, text)
	}
	_, err := parse([]byte(`{"name":"x","measured_runs":-1,"cases":[{"case_id":"a","goal":"g"}]}`))
	require.ErrorContains(t, err, "measured_runs is -1")
}

func TestChoose(t *testing.T) {
	t.Parallel()
	s := Suite{Name: "x", Cases: []Case{{ID: "a"}, {ID: "b"}, {ID: "c"}}}
	ids := func(wanted ...string) string {
		cases, err := s.Choose(wanted...)
		require.NoError(t, err)
		var b strings.Builder
		for _, c := range cases {
			b.WriteString(c.ID)
		}
		return b.String()
	}
	require.Equal(t, "abc", ids())
	require.Equal(t, "ac", ids("c,a"))
	require.Equal(t, "ab", ids("b", "a"))
	_, err := s.Choose("a,d")
	require.ErrorContains(t, err, `suite x has no case "d"`)
}

// suiteNames are the suites with files or conversations that are made for them.
var suiteNames = []string{"r1_artifact_virtualization", "r2_context_pressure", "r2_lifecycle_context"}

// eachSuite calls do with every one of them.
func eachSuite(t *testing.T, do func(t *testing.T, s *Suite)) {
	for _, name := range suiteNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Load(filepath.Join("workloads", name+".json"))
			require.NoError(t, err)
			require.Equal(t, name, s.Name)
			do(t, s)
		})
	}
}

// TestAnswersAreInTheFilesOnce sees that what a case expects is found in its files or turns, at one place, and is not in the
// question.
func TestAnswersAreInTheFilesOnce(t *testing.T) {
	t.Parallel()
	eachSuite(t, func(t *testing.T, s *Suite) {
		for _, c := range s.Cases {
			files, err := c.Fixtures(s.Seed)
			require.NoError(t, err)
			script := c.Script(s.Seed)
			told := strings.Join(script.Turns, "\n")
			if len(script.Questions) == 0 {
				told = "" // the only turn is the question
			}
			for _, f := range files {
				told += f.Text
			}
			asked := []Question{{ID: c.ID, Text: c.Goal + strings.Join(c.Turns, "\n"), ExpectedContains: c.ExpectedContains, ExpectedAny: c.ExpectedAny}}
			if len(script.Questions) > 0 {
				asked = script.Questions
			}
			for _, q := range asked {
				require.NotEmpty(t, len(q.ExpectedContains)+len(q.ExpectedAny), q.ID)
				for _, want := range q.ExpectedContains {
					require.Equal(t, 1, countWords(told, want), "%s %s: %q", c.ID, q.ID, want)
					require.False(t, ContainsWord(q.Text, want), "%s %s: %q", c.ID, q.ID, want)
				}
				for _, any := range q.ExpectedAny {
					found := func(in string) bool {
						return slices.ContainsFunc(any, func(want string) bool { return ContainsWord(in, want) })
					}
					require.True(t, found(told), "%s %s: %q", c.ID, q.ID, any)
					require.False(t, found(q.Text), "%s %s: %q", c.ID, q.ID, any)
				}
			}
		}
	})
}

// countWords counts the places at which text has word; see [ContainsWord].
func countWords(text, word string) int {
	n := 0
	for {
		at := strings.Index(text, word)
		if at < 0 {
			return n
		}
		from, to := max(0, at-4), min(len(text), at+len(word)+4)
		if ContainsWord(strings.ToValidUTF8(text[from:to], " "), word) {
			n++
		}
		text = text[at+len(word):]
	}
}

func TestSuitesCoverWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	sizes, positions, counts, turns := map[int]int{}, map[Position]int{}, map[int]int{}, map[int]int{}
	eachSuite(t, func(t *testing.T, s *Suite) {
		english, chinese := 0, 0
		for _, c := range s.Cases {
			text := c.Goal + strings.Join(c.Turns, "") + c.Metadata.ConversationSeedTurn
			if strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
				chinese++
			} else {
				english++
			}
			if c.Category == "recall" {
				require.Contains(t, []int{16, 32, 64}, c.turnCount())
				require.GreaterOrEqual(t, len(c.Metadata.ConversationFinalTurns), 5)
			}
		}
		require.Greater(t, english, 2)
		require.Greater(t, chinese, 2)
	})
	for _, name := range suiteNames {
		s, err := Load(filepath.Join("workloads", name+".json"))
		require.NoError(t, err)
		for _, c := range s.Cases {
			sizes[c.Metadata.FixtureSizeBytes]++
			positions[c.Metadata.FixtureMarkerPosition]++
			counts[c.Metadata.MediumFileCount]++
			turns[c.turnCount()]++
		}
	}
	for _, n := range []int{16 << 10, 64 << 10, 256 << 10, 1 << 20} {
		require.NotZero(t, sizes[n], n)
	}
	require.NotZero(t, positions[End])
	require.NotZero(t, positions[Middle])
	require.NotZero(t, counts[6])
	require.NotZero(t, counts[12])
	require.Equal(t, 2, turns[8], "evidence of several stages")
	require.Equal(t, 2, turns[5], "an artifact of an earlier turn")
	require.Equal(t, 2, turns[16])
	require.Equal(t, 2, turns[32])
	require.Equal(t, 2, turns[64])
}

// TestPromptsKnowNoSuite sees that what the roles are told shares no phrase with what a suite asks or holds, in either
// direction, and that the rare words of the examples in the prompts are not those of the suites.
func TestPromptsKnowNoSuite(t *testing.T) {
	t.Parallel()
	var prompts, examples string
	paths, err := filepath.Glob("../templates/*.*")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		if !strings.HasSuffix(path, ".go") {
			prompts += string(data) + "\n"
		}
		if filepath.Base(path) == "examples.json" {
			var read []struct {
				Task  string
				Steps []struct{ File string }
			}
			require.NoError(t, json.Unmarshal(data, &read))
			for _, e := range read {
				examples += e.Task + "\n"
				for _, step := range e.Steps {
					examples += step.File + "\n"
				}
			}
		}
	}
	require.NotEmpty(t, examples)
	var texts []string
	for _, name := range slices.Concat(suiteNames, handMadeSuites) {
		s, err := Load(filepath.Join("workloads", name+".json"))
		require.NoError(t, err)
		for _, c := range s.Cases {
			script := c.Script(s.Seed)
			texts = slices.Concat(texts, script.Turns, c.Metadata.MediumFileMarkers, []string{c.Metadata.FixtureMarker}, c.ExpectedContains)
			for _, q := range script.Questions {
				texts = append(texts, q.Text)
			}
			for _, made := range []Texts{c.Metadata.FixtureFiles, c.Metadata.FixtureDatabases} {
				for _, name := range sortedKeys(made) {
					texts = append(texts, name, made[name])
				}
			}
		}
	}
	for _, l := range languages() {
		texts = slices.Concat(texts, l.Questions, l.Situations, l.Closings, l.Lines, l.Sentences, l.Incident.Config, l.Incident.Customers,
			l.Document.Sections, l.Document.Facts)
	}
	known := phrases(prompts, 4)
	// Words of the examples that say something: long ones, without those that any text may have.
	rare := map[string]bool{}
	for word := range phrases(examples, 1) {
		if len(word) >= 6 && word != "please" {
			rare[word] = true
		}
	}
	for _, text := range texts {
		for phrase := range phrases(text, 4) {
			assert.False(t, known[phrase], "%q of %q is in a prompt", phrase, text)
		}
		for word := range phrases(text, 1) {
			assert.False(t, rare[word], "%q of %q is in an example of a prompt", word, text)
		}
	}
}

var wordPattern = regexp.MustCompile(`\p{Han}|[\p{L}\p{N}]+`)

// phrases are all runs of n words in text, in small letters. A Han sign is a word.
func phrases(text string, n int) map[string]bool {
	words := wordPattern.FindAllString(strings.ToLower(text), -1)
	found := map[string]bool{}
	for i := range max(0, len(words)-n+1) {
		found[strings.Join(words[i:i+n], " ")] = true
	}
	return found
}
