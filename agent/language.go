package agent

import (
	"regexp"
	"strings"
	"unicode"
)

// taskLanguage is what the answer's language is called when the task does not show it.
const taskLanguage = "the language of the task"

// languages are those that one script tells; a script that many languages share tells none.
var languages = []struct {
	script *unicode.RangeTable
	name   string
}{
	{unicode.Hiragana, "Japanese"}, {unicode.Katakana, "Japanese"}, {unicode.Hangul, "Korean"}, {unicode.Han, "Chinese"},
	{unicode.Greek, "Greek"}, {unicode.Hebrew, "Hebrew"}, {unicode.Thai, "Thai"}, {unicode.Armenian, "Armenian"}, {unicode.Georgian, "Georgian"},
}

// latinPerSign is how many Latin letters weigh as much as one letter of another script: names of files and columns are Latin
// in every language, and a Chinese sign stands for a word or half of one.
const latinPerSign = 4

// askedLanguage is what the answer's language is called when the task is about another language than its own.
const askedLanguage = "the language that the task asks for"

// otherLanguage finds a task that is about another language in the languages that a script tells. Told to answer in Chinese, a model
// translates a Chinese word into Chinese.
var otherLanguage = regexp.MustCompile(`(?:英|法|德|日|韩|俄|泰|西班牙|意大利|葡萄牙|拉丁|阿拉伯|希腊)[语文]|外语|翻译|译成|(?:英|仏|独|中国)語|翻訳|영어|중국어|일본어|번역`)

// answerLanguage is the language of the answer to a task, for the instruction that asks for it.
func answerLanguage(task string) string {
	if language := languageOf(task); language == taskLanguage || !otherLanguage.MatchString(task) {
		return language
	}
	return askedLanguage
}

// languageOf names the language that a task is written in as far as its script tells, for the instruction that asks for the
// answer. Small models otherwise answer in the language of the evidence. Nothing else depends on it.
func languageOf(task string) string {
	latin, counts := 0, make([]int, len(languages))
	for _, r := range task {
		if unicode.Is(unicode.Latin, r) {
			latin++
		}
		for i, l := range languages {
			if unicode.Is(l.script, r) {
				counts[i]++
			}
		}
	}
	total := 0
	for _, n := range counts {
		total += n
	}
	if total == 0 || total*latinPerSign < latin {
		return taskLanguage
	}
	for i, n := range counts {
		// Japanese and Korean come before Chinese, because they use its signs too.
		if n > 0 && n*latinPerSign >= total {
			return languages[i].name
		}
	}
	return taskLanguage
}

// notAllowed begins the sentence that says what was refused.
var notAllowed = map[string]string{
	"Chinese": "未执行，因为不允许：", "Japanese": "許可されていないため、実行していません：",
	"Korean": "허용되지 않아 실행하지 않았습니다: ",
}

// refusal says in a language what was not done because it is not allowed, as the beginning of an answer; in English where it has no
// words for it. Nothing refused gives nothing.
func refusal(language string, refused []string) string {
	if len(refused) == 0 {
		return ""
	}
	begin, known := notAllowed[language]
	if !known {
		begin = "Not done, because it is not allowed: "
	}
	return begin + strings.Join(refused, "; ") + "\n\n"
}
