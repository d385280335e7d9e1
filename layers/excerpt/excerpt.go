// Package excerpt shows the beginning and the end of a long text, with what the
// gap between them names.
//
// It guarantees that the result is a pure function of its arguments and that what
// it shows of the text are whole lines, where lines are not huge. Tokens are those
// of the parts; the line between them may take some more than are set aside for it.
//
// It does not understand what it cuts.
package excerpt

import (
	"fmt"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/layers/tokens"
)

// marker is the tokens that are set aside for the line between.
const marker = 16

// Cut returns text within a cap of tokens: whole, or its beginning and end with
// a line between them that says how much is left out, and names names from the
// gap in namesPercent of the room.
func Cut(text string, most, namesPercent int, c layers.Counter) string {
	if len(text) <= most || c.Count(text) <= most { // a token has at least one byte
		return text
	}
	room := max(most-marker, 1)
	names := room * namesPercent / 100
	room -= names
	head := wholeLines(tokens.Prefix(c, text, room*2/3), true)
	tail := wholeLines(tokens.Suffix(c, text[len(head):], room-room*2/3), false)
	left := text[len(head) : len(text)-len(tail)]
	between := fmt.Sprintf("[%d bytes, %d lines left out]", len(left), strings.Count(left, "\n"))
	if list := digest.NamesWithin(left, head+tail, names-4, c); list != "" {
		between = fmt.Sprintf("[%d bytes, %d lines left out, with%s]", len(left), strings.Count(left, "\n"), list)
	}
	return strings.TrimRight(head, "\n") + "\n" + between + "\n" + strings.TrimLeft(tail, "\n")
}

// wholeLines cuts a beginning (or an end) of a text at a line's border, unless
// that would lose more than half of it.
func wholeLines(text string, beginning bool) string {
	if beginning {
		if at := strings.LastIndexByte(text, '\n'); at > len(text)/2 {
			return text[:at+1]
		}
		return text
	}
	if at := strings.IndexByte(text, '\n'); at >= 0 && at < len(text)/2 {
		return text[at+1:]
	}
	return text
}
