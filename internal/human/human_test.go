package human

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNumbersForPeople(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", -12: "-12", 1234567: "1,234,567", math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		require.Equal(t, want, Count(n))
	}
	require.Equal(t, []string{"1 call", "0 calls", "2 calls", "1,500 calls"},
		[]string{Plural(1, "call"), Plural(0, "call"), Plural(2, "call"), Plural(1500, "call")})
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1200: "1.2 kB", 1_200_000: "1.2 MB", 1_120_000_000: "1.12 GB"} {
		require.Equal(t, want, Bytes(n))
	}
	for d, want := range map[time.Duration]string{
		12 * time.Millisecond: "12 ms", 1300 * time.Millisecond: "1.3 s", 125 * time.Second: "2m05s",
	} {
		require.Equal(t, want, Duration(d))
	}
	now := time.Unix(1_000_000_000, 0)
	for d, want := range map[time.Duration]string{
		-time.Hour: "now", 59 * time.Second: "now", 5 * time.Minute: "5 min", 3 * time.Hour: "3 h", 300 * time.Hour: "12 d",
	} {
		require.Equal(t, want, Age(now.Add(-d), now))
	}
}

func TestTimeLeft(t *testing.T) {
	t.Parallel()
	require.Equal(t, "about 6 s left", Left(1000, 2000, 5000, 2*time.Second))
	require.Equal(t, "about 1m30s left", Left(0, 1, 10, 10*time.Second))
	for _, none := range []string{
		Left(0, 0, 10, time.Second), Left(5, 5, 10, time.Second), Left(0, 10, 10, time.Second), Left(0, 1, 10, 0), Left(0, 99, 100, time.Second),
	} {
		require.Empty(t, none)
	}
}
