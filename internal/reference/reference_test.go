package reference

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	t.Parallel()
	f := Form{Scheme: "thing://", Shortest: 4, Step: 3, Longest: 10}
	for s, want := range map[string]string{
		"thing://0az9": "0az9", "0az9": "0az9", "THING://0AZ9": "0az9", "thing://0az9bcd": "0az9bcd", "0az9bcdefg": "0az9bcdefg",
		"": "", "thing://": "", "0az": "", "0az90": "", "0az9bcdefghjk": "", "other://0az9": "", "0az/": "", "0aİ9": "", "0azu": "", "../x": "",
		"thing://thing://0az9": "", strings.Repeat("0", 1<<20): "",
	} {
		id, ok := f.Parse(s)
		require.Equal(t, want, id, s)
		require.Equal(t, want != "", ok, s)
	}
}
