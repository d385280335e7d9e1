package scrub

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	secretPrefix = "[secret:"
	piiPrefix    = "[pii:"
	hashDigits   = 6 // 24 bits: enough to tell a workspace's secrets apart, too few to be a digest of them
	maxLabel     = 64
)

// labelCredential stands for what was found by what stands beside it. The value
// alone does not say what it is, and the same value must always have the same
// placeholder.
const labelCredential = "credential"

// placeholder is what stands for a value.
func placeholder(key []byte, pii bool, label, value string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(value))
	sum := mac.Sum(nil)
	prefix := secretPrefix
	if pii {
		prefix = piiPrefix
	}
	return prefix + label + ":" + hex.EncodeToString(sum[:hashDigits/2]) + "]"
}

// span is a part of a text, in bytes.
type span struct{ start, end int }

// placeholders returns where placeholders stand, in order.
func (r *Rules) placeholders(text string) []span {
	var out []span
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '[')
		if i < 0 {
			return out
		}
		at += i
		if n := r.placeholderAt(text[at:]); n > 0 {
			out = append(out, span{at, at + n})
			at += n
		} else {
			at++
		}
	}
}

// placeholderAt returns the length of the placeholder that text begins with, or of
// what a cut left of one; 0 if there is none.
func (r *Rules) placeholderAt(text string) int {
	rest, ok := strings.CutPrefix(text, secretPrefix)
	if !ok {
		if rest, ok = strings.CutPrefix(text, piiPrefix); !ok {
			return 0
		}
	}
	colon := strings.IndexByte(rest[:min(len(rest), maxLabel+1)], ':')
	if colon < 0 || !r.labels[rest[:colon]] {
		return 0
	}
	digits := rest[colon+1:]
	n := 0
	for n < min(len(digits), hashDigits) && ('0' <= digits[n] && digits[n] <= '9' || 'a' <= digits[n] && digits[n] <= 'f') {
		n++
	}
	switch after := digits[n:]; {
	case n == hashDigits && strings.HasPrefix(after, "]"):
		n++
	case !cutOff(after):
		return 0
	}
	return len(text) - len(digits) + n
}

// cutOff tells that a text was cut where another part of it begins, as in a
// summary of so many tokens: a placeholder there has lost its end.
func cutOff(after string) bool {
	return after == "" || strings.HasPrefix(after, "…") || strings.IndexByte(" \t\r\n", after[0]) >= 0
}
