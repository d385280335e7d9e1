package scrub

import "math"

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { c |= 0x20; return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool  { return 'A' <= c && c <= 'Z' }
func isWord(c byte) bool   { return isDigit(c) || isLetter(c) || c == '_' }
func isHex(c byte) bool    { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
func isSpace(c byte) bool  { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// isToken tells whether a byte occurs in keys and tokens of any usual encoding.
func isToken(c byte) bool {
	switch c {
	case '+', '/', '=', '.', '~', '-', '%':
		return true
	}
	return isWord(c)
}

// inRun tells whether a byte can be part of a secret of known form: anything but
// white space and quotes.
func inRun(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', '"', '\'', '`':
		return false
	}
	return true
}

// entropy is Shannon's, in bits for each character, as gitleaks defines it.
func entropy(s string) float64 {
	if s == "" {
		return 0
	}
	ascii := true
	var counts [128]int
	for i := range len(s) {
		if s[i] >= 128 {
			ascii = false
			break
		}
		counts[s[i]]++
	}
	sum, inverse := 0.0, 1/float64(len(s))
	add := func(count int) {
		if count > 0 {
			share := float64(count) * inverse
			sum -= share * math.Log2(share)
		}
	}
	if ascii {
		for _, count := range counts {
			add(count)
		}
		return sum
	}
	runes := []rune(s)
	seen := map[rune]int{}
	for _, r := range runes {
		seen[r]++
	}
	for _, r := range runes { // in order of the text, so that rounding is the same each time
		add(seen[r])
		seen[r] = 0
	}
	return sum
}

// shape counts the kinds of bytes in a text.
type shape struct {
	digits, lower, upper, other int
	changes                     int // between digits and letters
}

func shapeOf(s string) (sh shape) {
	kind := byte(0)
	for i := range len(s) {
		c, now := s[i], byte(0)
		switch {
		case isDigit(c):
			sh.digits++
			now = 1
		case isUpper(c):
			sh.upper++
			now = 2
		case isLetter(c):
			sh.lower++
			now = 2
		default:
			sh.other++
		}
		if now != 0 {
			if kind != 0 && kind != now {
				sh.changes++
			}
			kind = now
		}
	}
	return sh
}

func (s shape) letters() int { return s.lower + s.upper }
