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

// placeholderAt returns the length of the placeholder that text begins with, 0
// if there is none.
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
	if len(digits) <= hashDigits || digits[hashDigits] != ']' {
		return 0
	}
	for _, c := range []byte(digits[:hashDigits]) {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return 0
		}
	}
	return len(text) - len(digits) + hashDigits + 1
}
