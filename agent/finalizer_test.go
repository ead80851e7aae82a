package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnswersAreTakenOutOfAnObject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"answer":" 12 kg\n"}`: "12 kg", "```json\n{\"answer\":\"12 kg\"}\n```": "12 kg", "12 kg": "12 kg", "": "",
		`{"result":"12 kg"}`: "12 kg", `{"answer":12}`: `{"answer":12}`, `{"answer":"a","b":1}`: `{"answer":"a","b":1}`, `{"weight":"12 kg"}`: `{"weight":"12 kg"}`, `{"answer":"a"} b`: `{"answer":"a"} b`,
	} {
		require.Equal(t, want, unwrapped(text, "How heavy is it?"), text)
	}
	for _, goal := range []string{"Reply as JSON.", `Reply with {"answer": …}`} {
		require.Equal(t, `{"answer":"a"}`, unwrapped(`{"answer":"a"}`, goal), "what was asked for")
	}
}
