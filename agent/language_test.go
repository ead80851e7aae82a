package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLanguageOfATask(t *testing.T) {
	t.Parallel()
	for task, want := range map[string]string{
		"How many lines has a.txt?":   taskLanguage,
		"Wie viele Zeilen hat a.txt?": taskLanguage,
		"Сколько строк в a.txt?":      taskLanguage, // Cyrillic is written by many languages
		"":                            taskLanguage,
		"17 + 25 = ?":                 taskLanguage,
		"a.txt 有多少行？":                 "Chinese",
		"配置文件 config/production.toml 里的端口是什么？":  "Chinese",
		"请解释 SELECT 语句":                         "Chinese",
		"Read 值班.md and tell me who is on call": taskLanguage, // one name does not make a language
		"a.txt は何行ありますか":                        "Japanese",
		"a.txt는 몇 줄입니까?":                        "Korean",
		"Πόσες γραμμές έχει το a.txt;":          "Greek",
	} {
		require.Equal(t, want, languageOf(task), task)
	}
}

func TestRefusalIsSaidInTheLanguageOfTheTask(t *testing.T) {
	t.Parallel()
	require.Empty(t, refusal("Chinese", nil))
	require.Equal(t, "未执行，因为不允许：删除\n\n", refusal("Chinese", []string{"删除"}))
	for _, language := range []string{"Greek", taskLanguage} {
		require.Equal(t, "Not done, because it is not allowed: a; b\n\n", refusal(language, []string{"a", "b"}))
	}
	for language := range notAllowed {
		known := false
		for _, l := range languages {
			known = known || l.name == language
		}
		require.True(t, known, language)
	}
}

func TestAnswerLanguage(t *testing.T) {
	t.Parallel()
	for task, want := range map[string]string{
		"“再见”用法语怎么说？": askedLanguage, "把这句话翻译一下": askedLanguage, "今天语文课讲了什么？": "Chinese", "请读 a.txt": "Chinese",
		"How do I say it in French?": taskLanguage, "이것을 번역해 주세요": askedLanguage, "何時ですか": "Japanese",
	} {
		require.Equal(t, want, answerLanguage(task), task)
	}
}
