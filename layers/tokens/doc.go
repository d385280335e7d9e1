// Package tokens counts tokens: exactly for o200k_base and cl100k_base, by a
// flagged estimate for models whose encoding is not public.
//
// It guarantees that an exact count is what tiktoken-go's EncodeOrdinary yields
// for the same text, that it takes time linear in the text for any input (n log n
// in a single piece that is longer than a word), and that Prefix and Suffix cut
// at the borders of pieces, so that what is kept counts no more than was asked
// for. The merge ranks are those of tiktoken-go's offline loader, embedded in a
// form that needs no parsing; a table is built when its encoding is first used.
//
// It does not encode to token ids, knows no special tokens (they count as plain
// text), and reads neither files nor the network.
package tokens
