// Package canonical writes JSON in the one canonical form of RFC 8785: no white
// space, members sorted by the UTF-16 code units of their keys, numbers as
// ECMAScript writes them, a minimum of escapes. Equal values give equal bytes,
// so a checksum of the bytes is a checksum of the value (requirement H12).
//
// Two ways lead there. Append functions write a value of known shape straight
// in canonical form: the caller gives the keys in order, and Check proves in a
// test that it did. Marshal takes any value that encoding/json can marshal, and
// Transform any JSON text; they cost several times as much.
//
// It guarantees that its output is valid UTF-8 and, for Marshal and Transform,
// a fixed point of Transform. It departs from RFC 8785 in one thing: where the
// RFC refuses a string that is not Unicode (a lone surrogate, a bad byte), it
// writes U+FFFD, because editors do send such strings.
//
// It does not keep integers beyond ±2^53, which RFC 8785 rounds to doubles.
package canonical
