package vectors

import "math"

// Vector is the direction of a text, in steps of 1/127 of its largest value:
// each byte is a number from -127 to 127 in two's complement.
type Vector []byte

// Vector returns the direction of a sum; false if no term was known.
func (s *Sum) Vector() (v Vector, ok bool) {
	largest := int64(0)
	for _, x := range s.values {
		largest = max(largest, x, -x)
	}
	if largest == 0 {
		return nil, false
	}
	v = make(Vector, Dimensions)
	for k, x := range s.values {
		// Rounded half away from zero; at most 2^23 terms keep it in range.
		twice := 2 * maxValue * x
		if x >= 0 {
			twice += largest
		} else {
			twice -= largest
		}
		v[k] = byte(int8(twice / (2 * largest)))
	}
	return v, true
}

// Quantise returns the direction of numbers; false if all are 0 or one is none.
// The same bits give the same vector on every machine.
func Quantise(numbers []float32) (v Vector, ok bool) {
	largest := 0.0
	for _, x := range numbers {
		largest = max(largest, math.Abs(float64(x))) // NaN stays
	}
	if !(largest > 0) || math.IsInf(largest, 0) {
		return nil, false
	}
	v = make(Vector, len(numbers))
	for k, x := range numbers {
		v[k] = byte(int8(math.Round(float64(float64(x)*maxValue) / largest)))
	}
	return v, true
}

// Square is the sum of the squares of a vector's numbers.
func Square(v Vector) int32 { return Dot(v, v) }

// Dot is the sum of the products of two vectors of the same dimensions, of which
// there may be 100,000.
func Dot(a, b Vector) int32 {
	b = b[:len(a)]
	whole := len(a) / dotStep * dotStep
	sum := int32(0)
	if whole > 0 && quick() {
		sum = dotBytes(&a[0], &b[0], whole)
	} else {
		whole = 0
	}
	return sum + plainDot(a[whole:], b[whole:])
}

// dotStep is how many numbers the quick kernel takes at once.
const dotStep = 16

func plainDot(a, b Vector) (sum int32) {
	b = b[:len(a)]
	for k, x := range a {
		sum += int32(int8(x)) * int32(int8(b[k]))
	}
	return sum
}

// Cosine tells how near two vectors are, -1 to 1, six decimals; 0 if they are
// not of the same dimensions.
func Cosine(a, b Vector) float64 {
	if len(a) != len(b) {
		return 0
	}
	return CosineOf(Dot(a, b), Square(a), Square(b))
}

// CosineOf is the cosine of two vectors of which the product and the squares are
// known.
func CosineOf(product, left, right int32) float64 {
	if left == 0 || right == 0 {
		return 0
	}
	return math.Round(float64(product)/math.Sqrt(float64(int64(left)*int64(right)))*1e6) / 1e6
}
