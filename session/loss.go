package session

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"hexapla/layers"
)

// PackLoss counts what a pack shows in less detail than the session's pack
// before, or not at all.
type PackLoss struct {
	Previous string // checksum of the pack before
	Items    int
	Tokens   int // that they took more
}

// Reasons for a loss, beside those of a drop.
const (
	LossRenewed  = "renewed"  // a fold told it anew: layer 0, the roster, a digest
	LossUnpinned = "unpinned" // the pin was taken away
	LossRequest  = "request"  // the client did not send it any more
)

// lastPack is what is kept of a session's pack to compare the next one with.
type lastPack struct {
	checksum string
	previous string
	pack     *layers.Pack
	loss     *PackLoss
	profile  layers.ProfileName
}

// compare tells how much of the pack is the same bytes as the session's pack
// before and what of that one is lost, and remembers it. A pack that is built
// again keeps the one before it. It returns what metrics need.
func (s *Session) compare(ctx context.Context, reply *PackReply) *packMeasures {
	pack := reply.Pack
	now := &lastPack{checksum: reply.Checksum, pack: pack, profile: reply.Profile.Profile}
	shown := shownBy(pack)
	s.mu.Lock()
	before, fullBefore := s.last[pack.Layout], s.lastFull
	s.mu.Unlock()
	if before == nil {
		before = s.lastAudited(ctx, pack.Layout)
	}
	switch {
	case before == nil:
	case before.checksum == now.checksum:
		now.previous, now.loss = before.previous, before.loss
	default:
		now.previous = before.checksum
		now.loss = lossOf(before.checksum, before.pack, pack)
	}
	s.mu.Lock()
	s.last[pack.Layout] = now
	s.lastFull, s.shown = reply.full, shown
	s.mu.Unlock()
	reply.Previous, reply.Loss = now.previous, now.loss
	if before != nil && before.profile != now.profile {
		reply.ProfileBefore = before.profile
	}
	if before != nil && len(pack.Text) > 0 {
		reply.PrefixBytes = commonPrefix(before.pack.Text, pack.Text)
		reply.CachedShare = float64(reply.PrefixBytes) / float64(len(pack.Text))
		reply.PrefixTokens = tokensWithin(pack, reply.PrefixBytes)
	}
	m := &packMeasures{
		Bytes: len(pack.Text), Common: reply.PrefixBytes, CommonTokens: reply.PrefixTokens,
		Full: reply.full, FullBefore: min(fullBefore, reply.full), Available: pack.Budget.Total - pack.Budget.Reserved,
	}
	for _, d := range pack.Dropped {
		if d.Reason == layers.DropBudget {
			m.Forced++
		}
	}
	return m
}

// lastAudited is the session's pack before as the audit log has it, when this
// process has built none yet; nil if there is none that can be built again.
func (s *Session) lastAudited(ctx context.Context, layout layers.Layout) *lastPack {
	record, ok := s.newestAudited(layout)
	if !ok {
		return nil
	}
	reply, err := s.Replay(ctx, record.Checksum)
	if err != nil || reply.Checksum != record.Checksum {
		return nil
	}
	last := &lastPack{checksum: record.Checksum, previous: record.Previous, pack: reply.Pack, profile: reply.Profile.Profile}
	if before, err := s.Replay(ctx, record.Previous); err == nil {
		last.loss = lossOf(record.Previous, before.Pack, last.pack)
	}
	return last
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// lossOf counts what a pack has lost, nil if that is nothing.
func lossOf(previous string, before, after *layers.Pack) *PackLoss {
	lost := lossesOf(before, after)
	if len(lost) == 0 {
		return nil
	}
	loss := &PackLoss{Previous: previous, Items: len(lost)}
	for _, c := range lost {
		loss.Tokens += max(c.From.Tokens-c.To.Tokens, 0)
	}
	return loss
}

// lossesOf returns what a pack shows in less detail than another, or not at
// all, in the other's order. What changed its text without a fold is newer, not
// less.
func lossesOf(before, after *layers.Pack) []PackChange {
	if goesOn(before, after) {
		return nil
	}
	now := itemsOf(after)
	texts := make(map[string]bool, len(now))
	for i := range now {
		texts[now[i].form.Text] = true
	}
	renewed := before.Epoch != after.Epoch || before.Budget != after.Budget || before.Settings != after.Settings
	_, removed, changed := pair(itemsOf(before), now)
	var out []PackChange
	for _, c := range slices.Concat(removed, changed) {
		switch {
		case c.From.Detail == layers.FormHeading, texts[c.From.Text], strings.Contains(c.To.Text, c.From.Text):
			continue // a line of the pack itself, moved, or told with more behind it
		case c.To.Detail == "":
		case !isPieceID(c.ID) && !renewed:
			continue
		case !isPieceID(c.ID) || c.To.Tokens < c.From.Tokens:
		case c.item.section != layers.SectionInput || strings.Contains(c.To.Text, bodyOf(c.From.Text)):
			continue // an input that was never recorded may have left its id to another turn
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b PackChange) int { return cmp.Compare(a.item.at, b.item.at) })
	return out
}

// bodyOf is the text of a piece without its heading.
func bodyOf(text string) string {
	_, body, _ := strings.Cut(text, "\n")
	return body
}

// goesOn tells that a pack shows all items of another, and shows them first: so
// it is from call to call, and it is quickly told.
func goesOn(before, after *layers.Pack) bool {
	section, at := 0, 0
	for i := range before.Sections {
		for k := range before.Sections[i].Items {
			for section < len(after.Sections) && at == len(after.Sections[section].Items) {
				section, at = section+1, 0
			}
			if section == len(after.Sections) {
				return false
			}
			a, b := &before.Sections[i].Items[k], &after.Sections[section].Items[at]
			if a.ID != b.ID || a.Form != b.Form {
				return false
			}
			at++
		}
	}
	return true
}

// lossReason tells why a pack shows a thing in less detail.
func lossReason(after *layers.Pack, c *PackChange) string {
	to := c.To.Detail
	if to == "" {
		to = layers.FormNone
	}
	listed := func(match func(d *layers.Drop) bool) string {
		for i := range after.Dropped {
			if match(&after.Dropped[i]) {
				return after.Dropped[i].Reason
			}
		}
		return ""
	}
	piece := isPieceID(c.ID)
	switch {
	case c.Section == layers.SectionSystem:
		return LossRequest
	case c.Section == layers.SectionPins:
		return LossUnpinned
	case c.Section == layers.SectionMemory:
		if reason := listed(func(d *layers.Drop) bool { return d.ID == c.ID }); reason != "" {
			return reason
		}
		return LossRenewed
	case c.From.Detail == layers.FormDigest, c.From.Detail == layers.FormRoster, c.From.Detail == layers.FormRollup,
		c.ID == layers.SectionCurrentContext, strings.HasPrefix(c.ID, "context:"):
		return LossRenewed
	case piece:
		if reason := listed(func(d *layers.Drop) bool { return d.To == to && within(d.ID, c.ID) }); reason != "" {
			return reason
		}
		if c.To.Detail != "" {
			return layers.DropCap // once recorded, an output stands in its cap
		}
		if c.item.section == layers.SectionInput {
			return LossRequest
		}
		return layers.DropWindow
	}
	if reason := listed(func(d *layers.Drop) bool { return d.ID == c.ID && d.From == c.From.Detail }); reason != "" {
		return reason
	}
	if c.From.Detail == string(layers.DetailHeader) && c.To.Detail == "" {
		return layers.DropRollup
	}
	if c.To.Detail != "" {
		return LossRenewed
	}
	return layers.DropWindow
}

// within tells that an id of a piece is in a drop's, which may be a range.
func within(drop, id string) bool {
	first, last, many := strings.Cut(drop, "..")
	if !many {
		return drop == id
	}
	conversation, place, ok := placeOf(id)
	from, begin, okFrom := placeOf(first)
	_, end, okEnd := placeOf(last)
	return ok && okFrom && okEnd && from == conversation && slices.Compare(begin[:], place[:]) <= 0 && slices.Compare(place[:], end[:]) <= 0
}

// placeOf takes "c12#3/2" apart; without an output the last number is 0.
func placeOf(id string) (conversation string, place [2]int, ok bool) {
	conversation, rest, ok := strings.Cut(id, "#")
	turn, output, _ := strings.Cut(rest, "/")
	var err error
	if place[0], err = strconv.Atoi(turn); err != nil {
		return "", place, false
	}
	place[1], _ = strconv.Atoi(output)
	return conversation, place, ok
}
