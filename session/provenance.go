package session

import (
	"context"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/storage"
)

// fenceKey is the purpose of the store's key that the mark of packs is made with.
const fenceKey = "fence"

// clientKey is the key of a context's client.
type clientKey struct{}

// maxClientName bounds what is kept of a client's name, in bytes.
const maxClientName = 200

// WithClient tells who makes the calls with a context: it is noted with what
// they write.
func WithClient(ctx context.Context, name string) context.Context {
	if len(name) > maxClientName {
		name = asText(name[:maxClientName])
	}
	return context.WithValue(ctx, clientKey{}, name)
}

func clientOf(ctx context.Context) string {
	name, _ := ctx.Value(clientKey{}).(string)
	return name
}

// authorOf tells who wrote a turn's own text.
func authorOf(turn *layers.Turn) layers.Author {
	switch {
	case turn.Role == layers.RoleAssistant:
		return layers.AuthorAssistant
	case turn.Role == layers.RoleTool, turn.Kind == layers.InputToolResponse:
		return layers.AuthorTool
	case turn.Shared:
		return layers.AuthorShared
	}
	return layers.AuthorUser
}

// sourcesOf tells where the turns of a conversation come from, each result by
// itself. client says who recorded a turn; it may be nil.
func sourcesOf(turns []layers.Turn, client func(i int) (string, error)) ([]layers.Provenance, error) {
	inputs := map[string]string{} // of calls, by id
	var out []layers.Provenance
	for i := range turns {
		turn := &turns[i]
		by := ""
		if client != nil {
			var err error
			if by, err = client(i); err != nil {
				return nil, err
			}
		}
		if turn.Text != "" || len(turn.Calls) > 0 {
			out = append(out, layers.Provenance{Turn: turn.Number, Author: authorOf(turn), Client: by})
		}
		for _, call := range turn.Calls {
			inputs[call.ID] = call.Input
		}
		for k, result := range turn.Results {
			out = append(out, layers.Provenance{
				Turn: turn.Number, Result: k + 1, Tool: result.Tool, Client: by,
				Author: digest.AuthorOfResult(result.Tool, inputs[result.CallID]),
			})
		}
	}
	return out, nil
}

// trustOf is the least trust of what turns are made of: that of all that is
// derived from them.
func trustOf(turns []layers.Turn) layers.Trust {
	var least layers.Trust
	sources, _ := sourcesOf(turns, nil) // without a client there is nothing that fails
	for _, source := range sources {
		least = least.Least(source.Author.Trust())
	}
	return least
}

// sources tells where the turns of a reply come from, and what packs leave out of
// them.
func (ws *Workspace) sources(v storage.View, conversation string, turns []layers.Turn) ([]layers.Provenance, error) {
	out, err := sourcesOf(turns, func(i int) (string, error) {
		record, _, err := v.Latest(kindTurn, turnID(conversation, turns[i].Number))
		if err != nil {
			return "", err
		}
		return v.Writer(record.Seq)
	})
	if err != nil {
		return nil, err
	}
	byNumber := make(map[int]*layers.Turn, len(turns))
	for i := range turns {
		byNumber[turns[i].Number] = &turns[i]
	}
	for i := range out {
		turn := byNumber[out[i].Turn]
		text := saidBy(turn)
		if k := out[i].Result; k > 0 {
			text, _ = ws.readText(turn.Results[k-1].Blob)
		}
		_, counts := ws.fence.Inspect(text)
		out[i].Invisible, out[i].Tags = counts.Invisible, counts.Tags
	}
	return out, nil
}
