package benchmark

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"
)

// Number is a statistic. NaN says that it is not known, which is null in JSON.
type Number float64

// unknown is a number that is not known.
func unknown() Number { return Number(math.NaN()) }

// Known reports whether there is a number.
func (n Number) Known() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// significantDigits of numbers in JSON: more than measurements have, and less than the rounding of processors differs in.
const significantDigits = 12

// MarshalJSON writes a number, or null.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.Known() {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(n)+0, 'g', significantDigits, 64), nil // + 0 makes −0 plain
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Number) UnmarshalJSON(data []byte) error {
	value := math.NaN()
	if string(data) != "null" {
		if err := json.Unmarshal(data, &value); err != nil {
			return err
		}
	}
	*n = Number(value)
	return nil
}

// Estimate is a number with the ends of its 95 % confidence interval, which are not known where the data are too few.
type Estimate struct {
	Value Number `json:"value"`
	Low   Number `json:"low"`
	High  Number `json:"high"`
}

// noEstimate is one of which nothing is known.
func noEstimate() Estimate { return Estimate{unknown(), unknown(), unknown()} }

// Bounded reports whether the interval is known.
func (e Estimate) Bounded() bool { return e.Low.Known() && e.High.Known() }

// scaled returns the estimate in a unit that is by the factor smaller.
func (e Estimate) scaled(factor float64) Estimate {
	return Estimate{e.Value * Number(factor), e.Low * Number(factor), e.High * Number(factor)}
}

// confidence is that of all intervals.
const confidence = 0.95

// quantile returns the value below which the share p of the sorted values lies, interpolated between neighbours: definition 7
// of Hyndman and Fan, Sample Quantiles in Statistical Packages (The American Statistician 50, 1996), which numpy and R use,
// too. It is NaN without values.
func quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := p * float64(len(sorted)-1)
	below := int(at)
	if below >= len(sorted)-1 {
		return sorted[len(sorted)-1]
	}
	return sorted[below] + (at-float64(below))*(sorted[below+1]-sorted[below])
}

// proportion is a share with Wilson's interval: Probable Inference, the Law of Succession, and Statistical Inference (Journal
// of the American Statistical Association 22, 1927). It is never outside 0 to 1 and holds for few trials and for none or all right.
func proportion(right, trials int) Estimate {
	if trials == 0 {
		return noEstimate()
	}
	z := distuv.UnitNormal.Quantile((1 + confidence) / 2)
	n, p := float64(trials), float64(right)/float64(trials)
	centre := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	e := Estimate{Number(p), Number(max(0, centre-half)), Number(min(1, centre+half))}
	if right == 0 {
		e.Low = 0 // and not what rounding leaves of it
	}
	if right == trials {
		e.High = 1
	}
	return e
}

// mcnemar returns the two-sided p value of the exact McNemar test for pairs of which some turned out right on one side only: the
// binomial test of an even split (McNemar, Psychometrika 12, 1947; exact as in Fagerland, Lydersen and Laake, BMC Medical
// Research Methodology 13:91, 2013).
func mcnemar(onlyBase, onlyCurrent int) float64 {
	n := onlyBase + onlyCurrent
	if n == 0 {
		return 1
	}
	tail := distuv.Binomial{N: float64(n), P: 0.5}.CDF(float64(min(onlyBase, onlyCurrent)))
	return min(1, 2*tail)
}

// pairedDifference is the share of pairs that are right in current, less that in base, with the interval of Bonett and Price
// (Journal of Educational and Behavioral Statistics 37, 2012), which Fagerland, Lydersen and Laake recommend for few pairs
// (Statistics in Medicine 33, 2014).
func pairedDifference(onlyBase, onlyCurrent, pairs int) Estimate {
	if pairs == 0 {
		return noEstimate()
	}
	z := distuv.UnitNormal.Quantile((1 + confidence) / 2)
	n := float64(pairs) + 2
	lost, won := (float64(onlyBase)+1)/n, (float64(onlyCurrent)+1)/n
	half := z * math.Sqrt((lost+won-(won-lost)*(won-lost))/n)
	return Estimate{
		Number(float64(onlyCurrent-onlyBase) / float64(pairs)), Number(max(-1, won-lost-half)), Number(min(1, won-lost+half)),
	}
}

// sorted returns the values in rising order.
func sorted(values []float64) []float64 {
	values = slices.Clone(values)
	slices.Sort(values)
	return values
}
