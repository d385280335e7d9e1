package session

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/retrieval"
)

const (
	// tokensPerPassage is how much of its budget a pack has for each turn that is
	// looked at; a short turn has about 25.
	tokensPerPassage = 16
	// passageCap bounds a quoted turn, in tokens; what is longer is cut in its middle.
	passageCap = 1000
)

// passages returns the turns of the workspace that a pack's query is about, best
// first, for a pack that fills its budget. They are those that a search for turns
// finds, so that what search knows a pack knows.
func (p *packer) passages(ctx context.Context, req PackRequest) ([]layers.Passage, error) {
	if !req.Fill || p.policy.FillPassages == 0 {
		return nil, nil
	}
	query := p.question(req.Input)
	if query == "" {
		return nil, nil
	}
	found, err := p.ws.search(ctx, p.view, retrieval.Query{
		Text: query, Entities: digest.EntitiesOf(query), Kinds: []string{kindTurn}, Limit: max(1, min(req.Budget.Total/tokensPerPassage, p.policy.FillPassages)), Clip: true,
		Weights: retrieval.TurnWeights(), Complete: true,
		Exclude: func(id string) bool { return p.gone[id] != 0 },
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p.ws.opts.Logf("workspace %s: passages: %v", p.ws.ID, err)
		return nil, nil
	}
	headings := map[string]layers.Form{}
	out := make([]layers.Passage, 0, len(found.Hits))
	for _, hit := range found.Hits {
		body, seq, ok, err := latest[turnRecord](p.view, kindTurn, hit.ID)
		if err != nil {
			return nil, err
		}
		place, err := numberOf(hit.Conversation)
		if err != nil || !ok {
			continue // it was forgotten meanwhile
		}
		passage := layers.Passage{ID: hit.ID, Place: int64(place), Seq: seq}
		if passage.Heading, ok = headings[hit.Conversation]; !ok {
			passage.Heading = p.passageHeading(hit.Conversation, body.Time)
			headings[hit.Conversation] = passage.Heading
		}
		text := p.ws.fence.Clean(asText(body.Text))
		if strings.TrimSpace(text) == "" {
			continue
		}
		lead := fmt.Sprintf("#%d %s: ", body.Number, speaker(&body.Turn))
		if full := p.form(layers.FormFull, lead+oneBlock(text)); full.Tokens <= passageCap {
			passage.Forms = append(passage.Forms, full)
		}
		if cut, shorter := digest.Trim(text, p.policy.ExcerptCap, p.counter); shorter {
			passage.Forms = append(passage.Forms, p.form(layers.FormExcerpt, lead+oneBlock(cut)))
		}
		if len(passage.Forms) > 0 {
			out = append(out, passage)
		}
	}
	return out, nil
}

// question is what a pack is to answer: the user's input, or what the user said
// last in the conversation in progress.
func (p *packer) question(in *PackInput) string {
	if in != nil && in.Kind != layers.InputToolResponse {
		return asText(in.Content)
	}
	last := len(p.stream.conversations) - 1
	if last < 0 || p.stream.conversations[last].Done {
		return ""
	}
	pieces := p.stream.conversations[last].Pieces
	for k := len(pieces) - 1; k >= 0; k-- {
		if pieces[k].User {
			_, text, _ := strings.Cut(pieces[k].Forms[0].Text, "\n")
			return strings.ToValidUTF8(text, "")
		}
	}
	return ""
}

// speaker names who wrote a turn.
func speaker(turn *layers.Turn) string {
	if turn.Shared && turn.Role == layers.RoleUser {
		return "user of a shared memory"
	}
	return string(turn.Role)
}

// passageHeading names a conversation and the day of what is quoted of it.
func (p *packer) passageHeading(conversation string, at int64) layers.Form {
	heading := "### said in " + conversation
	if at != 0 {
		heading += " " + time.UnixMilli(at).UTC().Format(time.DateOnly)
	}
	return p.form(layers.FormHeading, p.ws.fence.Heading(heading)+"\n")
}

// oneBlock ends a text in exactly one line feed.
func oneBlock(text string) string { return strings.TrimRight(text, "\n") + "\n" }
