package digest

import (
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers"
	"hexapla/layers/tokens"
)

// TestRosterKeepsWithinItsRoom: whatever the names and the room are, a roster's
// tokens are no more than the room.
func TestRosterKeepsWithinItsRoom(t *testing.T) {
	t.Parallel()
	encoding, err := tokens.NewRegistry().Encoding("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-zA-Z_./:-]{1,12}[a-z/.):]{0,2}`)
		var uses []layers.Names
		for range rapid.IntRange(1, 4).Draw(t, "uses") {
			uses = append(uses, layers.Names{
				Paths: rapid.SliceOfN(name, 0, 12).Draw(t, "paths"), Identifiers: rapid.SliceOfN(name, 0, 12).Draw(t, "identifiers"),
			})
		}
		room := rapid.IntRange(0, 120).Draw(t, "room")
		text := Roster("### names used before krtx\n", uses, func(string) bool { return false }, room, 100, true, encoding)
		if n := encoding.Count(text); text != "" && n > room {
			t.Fatalf("%d tokens in a room of %d: %q", n, room, text)
		}
	})
}
