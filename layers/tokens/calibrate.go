package tokens

import (
	"math"
	"slices"
)

// A Sample is one prompt: what was counted of it, and what the provider says
// that it had.
type Sample struct {
	Counted int `json:"counted"` // tokens by a counter of this package
	Prompt  int `json:"prompt"`  // the provider's tokens: plain, written to its cache and read from it
}

// A Fit says how the provider's tokens follow from counted ones:
// prompt ≈ Overhead + Factor · counted.
type Fit struct {
	Factor   float64 `json:"factor"`   // four decimals
	Overhead int     `json:"overhead"` // what every prompt has beyond what was counted, at least 0
	// Band is the relative error that 95 % of the samples stayed within when they
	// were predicted from those before them, four decimals; 0.25 until there are
	// eight predictions to tell it from.
	Band    float64 `json:"band"`
	Samples int     `json:"samples"`
}

// What a fit needs.
const (
	fitSamples  = 4  // before a line is put through them
	bandSamples = 8  // predictions before their error is told
	fitNewest   = 64 // older samples are not looked at: models and habits change
	leastFactor = 0.5
	mostFactor  = 4.0
	startBand   = 0.25 // a guess: wider than what the default factors were off by in recorded sessions
)

// Calibrate learns from samples, oldest first, what a counted token is in the
// provider's tokens. It is a least-squares line through the newest samples,
// weighted by 1/prompt² because it is the relative error that matters. start is
// the factor that is taken until four samples with different counts are known.
// The result is a function of its arguments alone.
func Calibrate(samples []Sample, start float64) Fit {
	samples = samples[max(0, len(samples)-fitNewest):]
	fit := line(samples, start)
	fit.Samples, fit.Band = len(samples), startBand
	var errs []float64
	for i := fitSamples; i < len(samples); i++ {
		if samples[i].Prompt > 0 {
			before := line(samples[:i], start)
			errs = append(errs, math.Abs(float64(before.Predict(samples[i].Counted)-samples[i].Prompt))/float64(samples[i].Prompt))
		}
	}
	if len(errs) >= bandSamples {
		slices.Sort(errs)
		fit.Band = min(1, round4(errs[(len(errs)*95+99)/100-1]))
	}
	return fit
}

// Predict returns the provider's tokens of a prompt of which so many were
// counted.
func (f Fit) Predict(counted int) int {
	return f.Overhead + int(math.Ceil(f.Factor*float64(counted)))
}

// Fitting returns how many counted tokens fit into a limit of the provider's
// with the error band kept free: the safe edge.
func (f Fit) Fitting(limit int) int {
	if f.Factor <= 0 {
		return 0
	}
	return max(0, int((float64(limit)/(1+f.Band)-float64(f.Overhead))/f.Factor))
}

// line puts a line through samples.
func line(samples []Sample, start float64) Fit {
	var weights, x, y float64
	for _, s := range samples {
		w := weight(s)
		weights += w
		x += w * float64(s.Counted)
		y += w * float64(s.Prompt)
	}
	if weights == 0 {
		return Fit{Factor: round4(start)}
	}
	x, y = x/weights, y/weights
	factor := start
	if len(samples) >= fitSamples {
		var xx, xy float64
		for _, s := range samples {
			dx, dy := float64(s.Counted)-x, float64(s.Prompt)-y
			xx += weight(s) * dx * dx
			xy += weight(s) * dx * dy
		}
		if xx > 0 {
			factor = xy / xx
		}
	}
	factor = round4(min(max(factor, leastFactor), mostFactor))
	return Fit{Factor: factor, Overhead: max(0, int(math.Round(y-factor*x)))}
}

func weight(s Sample) float64 {
	if s.Prompt <= 0 || s.Counted < 0 {
		return 0
	}
	return 1 / (float64(s.Prompt) * float64(s.Prompt))
}

func round4(x float64) float64 { return math.Round(x*1e4) / 1e4 }
