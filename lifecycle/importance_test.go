package lifecycle_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/lifecycle"
)

func TestImportanceOfKinds(t *testing.T) {
	t.Parallel()
	const text = "call Bruno at 555 on 2026-03-05 about /etc/hosts"
	for _, test := range []struct {
		signals lifecycle.Signals
		want    float64
	}{
		{lifecycle.Signals{Kind: lifecycle.KindMemory}, 1},
		{lifecycle.Signals{Kind: lifecycle.KindTurn, Text: text}, 1},
		{lifecycle.Signals{Kind: lifecycle.KindTurn, Text: text, Failed: true}, 1},
		{lifecycle.Signals{Kind: lifecycle.KindTurn, Text: text, Calls: 1}, 0.5},
		{lifecycle.Signals{Kind: lifecycle.KindEvidence, Text: text}, 0.5},
		{lifecycle.Signals{Kind: lifecycle.KindEvidence, Text: text, Failed: true}, 0.2},
		{lifecycle.Signals{Kind: lifecycle.KindStep, Text: text}, 0.5},
		{lifecycle.Signals{Kind: lifecycle.KindStep, Text: text, Failed: true}, 0.2},
		{lifecycle.Signals{Kind: lifecycle.KindNote, Text: text}, 0.3},
	} {
		require.InDelta(t, test.want, lifecycle.Importance(test.signals), 1e-12, "%+v", test.signals)
	}
}

func TestImportanceOfTurns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text  string
		facts int
		asks  bool
	}{
		{"", 0, false},
		// English.
		{"my dog is called Bruno", 1, false},
		{"What is my dog called?", 0, true},
		{"what is Bruno's age?", 1, true},
		{"Thanks. That was helpful! Now go on", 0, false},
		{"I think I'm fine, and I know it", 0, false},
		{"My number is 555-1234, my mail is ann@example.org, and I live in Bergen.", 3, false},
		{"Bergen, Bergen, BERGEN and Bergen", 1, false},
		{"we use the port 8080", 1, false},
		{"look at config.toml and ./build/out and C:\\temp", 3, false},
		{"and/or, e.g. this, i.e. that ... etc.", 0, false},
		{"see https://example.org/a?b=c or www.example.org", 2, false},
		{"set maxRetries to true in parse_config", 2, false},
		{`the password is "open sesame" and nothing else`, 1, false},
		{"the log says `disk full`", 1, false},
		{"she said \u201cgood morning\u201d to \u2018us all\u2019", 2, false},
		{"it's the dogs' own food, isn't it", 0, false},
		{"First line\nSecond line\nThird line", 0, false},
		{"is that \"right?\"", 1, true},
		{"really?!", 0, true},
		{"is it (true?)", 0, true},
		{"Why? Because.", 0, false},
		{"x = 1;", 1, false},
		{"a; b;", 0, false},
		{"the SQL is slow", 1, false},
		{"(see Bergen)", 1, false},
		{"**Note** this", 0, false},
		// Chinese and Japanese.
		{"我的狗叫布鲁诺", 0, false},
		{"我的狗叫什么名字？", 0, true},
		{"我的狗叫什么名字?", 0, true},
		{"我的电话是13800138000，谢谢。", 1, false},
		{"会议在2026年3月5日", 1, false},
		{"会议在2026年3月5日14时30分，地点是“北京饭店”，联系人Wang", 3, false},
		{"請看config.toml和「設定」", 2, false},
		{"私の犬の名前は『ブルーノ』です。", 1, false},
		{"好的。谢谢你！", 0, false},
		// Korean writes spaces.
		{"회의는 2026년 3월 5일", 3, false},
		// Arabic.
		{"اسم كلبي برونو", 0, false},
		{"ما اسم كلبي؟", 0, true},
		{"رقم هاتفي ٥٥٥١٢٣٤ وأسكن في شقة ١٢", 2, false},
		{"كلمة السر هي «افتح يا سمسم»", 1, false},
		// Russian.
		{"мою собаку зовут Бруно", 1, false},
		{"Как зовут мою собаку?", 0, true},
		{"Встреча 5 марта в Москве, файл отчёт.docx", 3, false},
		{"Пароль: «сезам»", 1, false},
		// Greek and Armenian question marks.
		{"πώς λένε τον σκύλο μου;", 0, true},
		{"πώς λένε τον σκύλο μου\u037e", 0, true},
		{"τον λένε Μπρούνο", 1, false},
		{"ի՞նչ է", 0, false},
		{"սա ի՞նչ", 0, true},
		// Not valid UTF-8.
		{"\xff\xfe \x80?", 0, true},
	} {
		want := 0.6 + 0.4*float64(test.facts)/3
		if test.asks {
			want *= 0.6
		}
		got := lifecycle.Importance(lifecycle.Signals{Kind: lifecycle.KindTurn, Text: test.text})
		require.InDelta(t, want, got, 1e-12, "%q", test.text)
	}
}

// Text of any shape is judged in time proportional to its length; the square of it would be minutes here.
func TestImportanceOfLongText(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"\"", "a", "„", "我", "a.", "a ", "՞", ";", "\u201c\n"} {
		got := lifecycle.Importance(lifecycle.Signals{Kind: lifecycle.KindTurn, Text: strings.Repeat(part, 1<<18)})
		require.LessOrEqual(t, got, 1.0)
	}
}

func TestImportanceIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.String().Draw(r, "text")
		got := lifecycle.Importance(lifecycle.Signals{Kind: lifecycle.KindTurn, Text: text})
		require.Greater(r, got, 0.0)
		require.LessOrEqual(r, got, 1.0)
		require.Equal(r, got, lifecycle.Importance(lifecycle.Signals{Kind: lifecycle.KindTurn, Text: text + "\n "}), "white space at the end")
	})
}

func FuzzImportance(f *testing.F) {
	for _, seed := range []string{"My dog is called Bruno.", "会议在2026年3月5日“北京饭店”？", "„a“ «b» ``", "C:\\x ../y a@b.c", "\xff\u201c\xc3", "ի՞նչ;"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := lifecycle.Importance(lifecycle.Signals{Kind: lifecycle.KindTurn, Text: text})
		require.Greater(t, got, 0.3)
		require.LessOrEqual(t, got, 1.0)
	})
}
