package hostile

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIsHidden(t *testing.T) {
	t.Parallel()
	for _, r := range "\u0085\u061c\u200e\u202e\u2066\ufeff\ufff9\U000e0041" {
		require.True(t, IsHidden(r), "%U", r)
	}
	for _, r := range "a\né汉\u200d😀" { // a joiner holds emoji together
		require.False(t, IsHidden(r), "%U", r)
	}
}

func TestOddBytes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]int{
		"plain\ttext\r\n\x1b[1m": {0, 0}, "a\x00b\x7f": {2, 0}, "\xff\xfe": {0, 2}, "cut \xe6\xb1": {0, 0}, "\xe6\xb1 not cut": {0, 2},
	} {
		controls, invalid := OddBytes([]byte(text))
		require.Equal(t, want, [2]int{controls, invalid}, "%q", text)
	}
}
