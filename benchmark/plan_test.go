package benchmark

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimeLeft(t *testing.T) {
	t.Parallel()
	one := func(id string, round int) job { return job{Case{ID: id}, Rounds()[round], 1} }
	samples := []Sample{
		{Case: "a", Round: "R0", Cost: Cost{WallMS: 1000}}, {Case: "a", Round: "R0", Repetition: 1, Cost: Cost{WallMS: 3000}},
		{Case: "a", Round: "R1", Cost: Cost{WallMS: 8000}},
	}
	left := func(jobs ...job) time.Duration { return timeLeft(jobs, samples) }
	require.Equal(t, 2*time.Second, left(one("a", 0)))
	require.Equal(t, 10*time.Second, left(one("a", 0), one("a", 1)))
	require.Equal(t, 4*time.Second, left(one("a", 2)), "as the case in other rounds")
	require.Equal(t, 8*time.Second, left(one("b", 0), one("c", 1)), "as everything so far")
	require.Zero(t, timeLeft([]job{one("a", 0)}, nil))
	require.Zero(t, left())
}

func TestWarmups(t *testing.T) {
	t.Parallel()
	p := Plan{Cases: []Case{{ID: "a"}, {ID: "b"}}, Rounds: []Round{Rounds()[2], Rounds()[0]}, Warmups: 2}
	var order []string
	for _, j := range p.warmups() {
		order = append(order, j.c.ID+j.round.Name)
	}
	require.Equal(t, []string{"warm-upR2", "warm-upR0", "warm-upR2", "warm-upR0"}, order)
}
