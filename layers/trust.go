package layers

// Author says what kind of hand a text came from.
type Author string

// Authors.
const (
	AuthorUser      Author = "user"
	AuthorShared    Author = "shared" // the user of another memory, which this one took over
	AuthorAssistant Author = "assistant"
	AuthorTool      Author = "tool" // what a command or another tool printed
	AuthorFile      Author = "file" // what stood in a file that a tool read
	AuthorWeb       Author = "web"  // what a tool fetched from elsewhere
)

// Trust says how far a text may be followed. Only the user's words are
// instructions; what comes from elsewhere may have been written to be read by a
// model.
type Trust string

// Trusts, from most to least.
const (
	TrustUser      Trust = "user"
	TrustAssistant Trust = "assistant"
	TrustTool      Trust = "tool"
	TrustWeb       Trust = "web"
)

// Trust is derived from the author; no client can claim it.
func (a Author) Trust() Trust {
	switch a {
	case AuthorUser:
		return TrustUser
	case AuthorAssistant, AuthorShared:
		return TrustAssistant
	case AuthorWeb:
		return TrustWeb
	}
	return TrustTool
}

func (t Trust) rank() int {
	switch t {
	case TrustUser:
		return 3
	case TrustAssistant:
		return 2
	case TrustTool:
		return 1
	}
	return 0
}

// Least returns the lower of two trusts: that of a text made of both.
func (t Trust) Least(other Trust) Trust {
	if t == "" || other != "" && other.rank() < t.rank() {
		return other
	}
	return t
}

// Provenance is where a turn, or one result in it, comes from.
type Provenance struct {
	Turn   int
	Result int // from 1; 0 for the turn's own text
	Author Author
	Tool   string // that gave the result
	Client string // that recorded it, "" if it is not known
	// Invisible and Tags are what packs leave out of it or break: characters that
	// nobody sees, and tags that could pass for a prompt's own.
	Invisible, Tags int
}
