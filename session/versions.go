package session

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hexapla/storage"
)

// versionRecord is the body of a version record: what a conversation was before
// an edit.
type versionRecord struct {
	Sequence int64  `json:"sequence"`     // the newest at which it was so
	Turn     int    `json:"turn"`         // that was edited; 0 if the conversation was cut off as a whole
	By       string `json:"by,omitempty"` // the conversation that took its place, if another did
	Reason   string `json:"reason,omitempty"`
}

// aliasRecord is the body of an alias record: an id stands for a conversation.
type aliasRecord struct {
	To string `json:"to"`
	// Turns is how many turns of the one are the same turns of the other; -1
	// means all.
	Turns int `json:"turns"`
}

// maxAliases bounds the steps from an id to the conversation it stands for.
const maxAliases = 64

// ref is what an id names: a conversation ("c12"), one of its turns ("c12#3") or
// tool outputs ("c12#3/2"), each also as it was before an edit ("c12@1#3").
type ref struct {
	conversation string
	version      int    // 0 is the newest
	turn         string // "3" or "3/2"; "" for the conversation
}

func parseRef(id string) ref {
	var r ref
	r.conversation, r.turn, _ = strings.Cut(id, "#")
	if name, number, ok := strings.Cut(r.conversation, "@"); ok {
		if n, err := strconv.Atoi(number); err == nil && n > 0 {
			r.conversation, r.version = name, n
		}
	}
	return r
}

func (r ref) String() string {
	id := r.conversation
	if r.version > 0 {
		id = versionID(id, r.version)
	}
	if r.turn != "" {
		id += "#" + r.turn
	}
	return id
}

// lookUp finds what an id names and the view in which to read it: as of before
// an edit for an older version. A superseded id stands for what took its place.
func lookUp(v storage.View, id string) (ref, storage.View, error) {
	r := parseRef(id)
	if r.version > 0 {
		body, _, ok, err := latest[versionRecord](v, kindVersion, versionID(r.conversation, r.version))
		if err == nil && !ok {
			err = notFound("version", id)
		}
		if err != nil {
			return r, v, err
		}
		v, err = v.At(body.Sequence)
		return r, v, err
	}
	for range maxAliases {
		alias, _, ok, err := latest[aliasRecord](v, kindAlias, r.conversation)
		if err != nil {
			return r, v, err
		}
		if !ok {
			if _, ok, err = v.Latest(kindConversation, r.conversation); err == nil && !ok {
				err = missing(v, r.conversation, id)
			}
			return r, v, err
		}
		if number, _, _ := strings.Cut(r.turn, "/"); number != "" && alias.Turns >= 0 {
			if n, err := strconv.Atoi(number); err != nil || n > alias.Turns {
				return r, v, fmt.Errorf("turn %q was cut off by an edit; %q is what it was: %w", id, r.before(v), ErrNotFound)
			}
		}
		r.conversation = alias.To
	}
	return r, v, fmt.Errorf("%q stands for another id and so on, more than %d times: %w", id, maxAliases, ErrNotFound)
}

// missing says of a conversation that is not in the view whether it was
// forgotten: its number was given, and there is nothing of it.
func missing(v storage.View, conversation, id string) error {
	number, ok := strings.CutPrefix(conversation, "c")
	if n, err := strconv.ParseInt(number, 10, 64); ok && err == nil && n > 0 && strconv.FormatInt(n, 10) == number {
		issued, err := v.Issued("c")
		if err != nil {
			return err
		}
		later, err := v.Ever(kindConversation, conversation)
		if err != nil {
			return err
		}
		if n <= issued && !later {
			return fmt.Errorf("conversation %q %w", id, ErrForgotten)
		}
	}
	return notFound("conversation", id)
}

// before names the newest version of what was cut off.
func (r ref) before(v storage.View) string {
	r.version = v.ListLen(listOfVersions(r.conversation))
	return r.String()
}

// superseded tells that another conversation took one's place.
func superseded(v storage.View, conversation string) (by string, ok bool, err error) {
	alias, _, ok, err := latest[aliasRecord](v, kindAlias, conversation)
	return alias.To, ok, err
}

// cutOff returns the conversations that others took the place of, with the
// place of each among all conversations of the workspace, from 1.
func cutOff(v storage.View) (map[string]int64, error) {
	entries, err := v.List(listSuperseded, 0, v.ListLen(listSuperseded))
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	out := make(map[string]int64, len(entries))
	for _, entry := range entries {
		if out[entry.ID], err = numberOf(entry.ID); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// goneOf counts those that are among the first n conversations.
func goneOf(gone map[string]int64, n int) int {
	count := 0
	for _, place := range gone {
		if place <= int64(n) {
			count++
		}
	}
	return count
}

// staying leaves out the conversations that were superseded.
func (p *packer) staying(entries []storage.ListEntry) []storage.ListEntry {
	return slices.DeleteFunc(entries, func(e storage.ListEntry) bool { return p.gone[e.ID] != 0 })
}

// newestEdit returns the sequence of the workspace's newest edit as of a view; 0
// if there was none.
func newestEdit(v storage.View) (int64, error) {
	n := v.ListLen(listEdits)
	entries, err := v.List(listEdits, max(0, n-1), n)
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	return entries[0].Seq, nil
}

// Version is what a conversation was before an edit.
type Version struct {
	ID       string // to ask for it, such as "c12@1"
	Sequence int64  // the newest at which it was so
	Turn     int    // that was edited; 0 if the conversation was cut off
	By       string // the conversation that took its place; "" if none did
	Reason   string
}

// maxVersionsTold is how many versions of a conversation are told, the newest.
const maxVersionsTold = 100

func versionsOf(v storage.View, conversation string) ([]Version, error) {
	list := listOfVersions(conversation)
	n := v.ListLen(list)
	entries, err := v.List(list, max(0, n-maxVersionsTold), n)
	if err != nil {
		return nil, err
	}
	out := []Version{}
	for _, entry := range entries {
		body, _, _, err := latest[versionRecord](v, kindVersion, entry.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, Version{ID: entry.ID, Sequence: body.Sequence, Turn: body.Turn, By: body.By, Reason: body.Reason})
	}
	return out, nil
}

// maxAlias bounds a name that stands for a conversation, in bytes.
const maxAlias = 200

// AliasReply is the receipt of an alias.
type AliasReply struct {
	Conversation string // that it stands for in the end
	Sequence     int64  `json:"-"`
}

// SetAlias lets a name stand for a conversation of the session, or for another
// name: an id of another program, say. A name that stands for itself in the end
// is refused, and so is the id of a conversation.
func (s *Session) SetAlias(ctx context.Context, alias, to, key string) (AliasReply, error) {
	switch {
	case alias == "" || len(alias) > maxAlias:
		return AliasReply{}, &InvalidError{Path: "alias", Message: "must have 1 byte or more and not too many", Limit: maxAlias}
	case strings.ContainsAny(alias, "#@ \t\r\n") || asText(alias) != alias:
		return AliasReply{}, invalid("alias", "must not have white space, \"#\" or \"@\"")
	case isConversationID(alias):
		return AliasReply{}, invalid("alias", "has the form of a conversation's id")
	case strings.ContainsAny(to, "#@"):
		return AliasReply{}, invalid("to", "must be a conversation or an alias")
	}
	request := struct{ Alias, To string }{alias, to}
	reply, receipt, err := write(ctx, s.Workspace, "conversation/alias", s.ID, key, request, func(tx *storage.Tx) (AliasReply, error) {
		v := tx.View()
		for id, steps := to, 0; ; steps++ {
			if id == alias {
				return AliasReply{}, invalid("to", "it stands for the alias already: a name cannot stand for itself")
			}
			if steps >= maxAliases-1 {
				return AliasReply{}, &InvalidError{Path: "to", Message: "stands for another name, and that for another, too many times", Limit: maxAliases}
			}
			next, _, ok, err := latest[aliasRecord](v, kindAlias, id)
			if err != nil {
				return AliasReply{}, err
			}
			if !ok {
				break
			}
			id = next.To
		}
		at, _, err := lookUp(v, to)
		if err != nil {
			return AliasReply{}, err
		}
		record, _, _, err := latest[conversationRecord](v, kindConversation, at.conversation)
		if err != nil {
			return AliasReply{}, err
		}
		if record.Session != s.ID {
			return AliasReply{}, notFound("conversation", to)
		}
		tx.Put(storage.Draft{Kind: kindAlias, ID: alias, Parent: to, Body: encode(aliasRecord{To: to, Turns: -1})})
		return AliasReply{Conversation: at.conversation}, nil
	})
	reply.Sequence = receipt.Seq
	return reply, err
}

// isConversationID tells that a name is, or may become, a conversation's.
func isConversationID(name string) bool {
	digits, ok := strings.CutPrefix(name, "c")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}
