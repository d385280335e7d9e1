package minilm

import "math"

// Exponentials and the normal distribution, the same bits on every machine. The
// standard library's are assembly on some and fused on others. Each product is
// converted, so that no compiler fuses it with the sum behind it.

// functions holds the tables; made once by newFunctions.
type functions struct {
	powers [powerSteps]float64 // 2^(i/powerSteps)
	gelu   [2*geluSteps*geluRange + 1]geluPoint
}

// geluPoint is the distribution of the normal law and its first two derivatives,
// the second halved, at one point.
type geluPoint struct{ value, slope, bend float32 }

const (
	powerSteps = 64
	geluSteps  = 64 // points a unit: the cubic term is below 1e-7
	geluRange  = 8  // beyond it the distribution is 0 or 1 in float32
	lowestExp  = -60
)

func newFunctions() *functions {
	f := new(functions)
	root := 2.0 // 2^(1/powerSteps) by square roots, which are exact everywhere
	for range 6 {
		root = math.Sqrt(root)
	}
	f.powers[0] = 1
	for i := 1; i < powerSteps; i++ {
		f.powers[i] = float64(f.powers[i-1] * root)
	}
	for i := range f.gelu {
		x := float64(i)/geluSteps - geluRange
		density := float64(f.exp(float64(-0.5*x)*x) * (1 / math.Sqrt2 / math.SqrtPi))
		f.gelu[i] = geluPoint{float32(f.normal(x)), float32(density), float32(float64(-x*density) / 2)}
	}
	return f
}

// exp is e to the power of x, which is not above 0. Below lowestExp it is 0.
func (f *functions) exp(x float64) float64 {
	if x < lowestExp {
		return 0
	}
	steps := math.Floor(float64(x*(powerSteps*math.Log2E)) + 0.5)
	r := x - float64(steps*(math.Ln2/powerSteps)) // at most 0.0055 either way
	r2 := float64(r * r)
	tail := 1 + r + float64(r2*0.5) + float64(float64(r2*r)*(1.0/6)) + float64(float64(r2*r2)*(1.0/24))
	n := int(steps)
	whole := n >> 6 // of powerSteps
	return float64(math.Float64frombits(uint64(1023+whole)<<52) * float64(f.powers[n&(powerSteps-1)]*tail))
}

// normal is the distribution of the normal law, by a series without
// cancellation: 1/2 + φ(x)·(x + x³/3 + x⁵/15 + …).
func (f *functions) normal(x float64) float64 {
	if x > 0 {
		return 1 - f.normal(-x)
	}
	term, sum := x, x
	for n := 3; n < 400; n += 2 {
		term = float64(float64(term*x)*x) / float64(n)
		sum += term
	}
	density := float64(f.exp(float64(-0.5*x)*x) * (1 / math.Sqrt2 / math.SqrtPi))
	return max(0.5+float64(density*sum), 0)
}

// softmax turns a row into shares that add up to one.
func (f *functions) softmax(row []float32) {
	most := row[0]
	for _, x := range row {
		most = max(most, x)
	}
	sum := 0.0
	for i, x := range row {
		e := f.exp(float64(x) - float64(most))
		row[i] = float32(e)
		sum += e
	}
	for i, x := range row {
		row[i] = float32(float64(x) / sum)
	}
}

// activate applies GELU, x times the distribution of the normal law at x.
func (f *functions) activate(row []float32) {
	for i, x := range row {
		switch {
		case x >= geluRange:
		case x > -geluRange:
			at := int(float32((x+geluRange)*geluSteps) + 0.5)
			d := x - (float32(at)*(1.0/geluSteps) - geluRange)
			p := &f.gelu[at]
			row[i] = float32(x * (p.value + float32(d*(p.slope+float32(d*p.bend)))))
		default: // also what is no number
			row[i] = 0
		}
	}
}

// normalise gives a row mean 0 and variance 1, and then scale and shift.
func normalise(row, scale, shift []float32) {
	sum := 0.0
	for _, x := range row {
		sum += float64(x)
	}
	mean := sum / float64(len(row))
	sum = 0
	for _, x := range row {
		d := float64(x) - mean
		sum += float64(d * d)
	}
	inverse := 1 / math.Sqrt(sum/float64(len(row))+epsilon)
	for i, x := range row {
		row[i] = float32(float64(float64(float64(float64(x)-mean)*inverse)*float64(scale[i])) + float64(shift[i]))
	}
}
