package session

import (
	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/storage"
	"slices"
)

// turn makes a turn with its calls and results.
func (r *rescrubbing) turn(record *storage.Record) (storage.Content, error) {
	body, err := read[turnRecord](*record)
	if err != nil {
		return storage.Content{}, err
	}
	was, recount := encode(body), plainTurn(&body.Turn)
	outputs := make([]string, len(body.Results)) // hashes, as they were
	body.Text = r.scrub(kindTurn, body.Text)
	calls := make([]cleanCall, len(body.Calls))
	for i := range body.Calls {
		call := &body.Calls[i]
		before := *call
		call.ID, call.Name, call.Input = r.scrub(kindTurn, call.ID), r.scrub(kindTurn, call.Name), r.json(kindTurn, call.Input)
		calls[i] = cleanCall{*call, *call != before}
	}
	if r.calls[record.Parent] == nil {
		r.calls[record.Parent] = map[int][]cleanCall{}
	}
	r.calls[record.Parent][body.Number] = calls
	counted := plainTurn(&body.Turn) != recount
	for i := range body.Results {
		outputs[i] = body.Results[i].Blob.SHA256
		changed, err := r.result(record.Parent, body.Number, &body.Results[i])
		if err != nil {
			return storage.Content{}, err
		}
		counted = counted || changed
	}
	changed := string(encode(body)) != string(was)
	before := body.Tokens
	if counted {
		for i := range body.Results {
			if body.Results[i].Content, err = r.content(outputs[i]); err != nil {
				return storage.Content{}, err
			}
		}
		body.Tokens = r.ws.standard().Count(plainTurn(&body.Turn))
	}
	more, err := r.moved(record, body.Number, int64(body.Tokens-before))
	if err != nil {
		return storage.Content{}, err
	}
	body.Total += more
	if !changed && !counted && more == 0 {
		return storage.Content{}, nil
	}
	content := storage.Content{Body: encode(body)}
	if changed || counted {
		r.touch(record.Parent, record.Seq)
	}
	words, mentions := foundBy(saidIn(&body.Turn))
	content.Terms, content.Mentions = words, append([]storage.Mention{}, mentions...)
	return content, nil
}

// result makes a tool result; changed tells that its output has other text.
func (r *rescrubbing) result(conversation string, turn int, result *layers.ToolResult) (changed bool, err error) {
	sha := result.Blob.SHA256
	changed = r.point(&result.Blob)
	result.CallID, result.Tool = r.scrub(kindTurn, result.CallID), r.scrub(kindTurn, result.Tool)
	call, known := r.callOf(conversation, turn, result.CallID)
	if changed || known && call.changed {
		content, err := r.content(sha)
		if err != nil {
			return changed, err
		}
		result.Compressed = digest.ToolResult(digest.ToolOutput{
			Tool: result.Tool, Input: call.call.Input, Output: asText(content), IsError: result.IsError,
		}, r.ws.standard())
		return changed, nil
	}
	r.compressed(&result.Compressed)
	return changed, nil
}

// compressed replaces what is left in a compressed output.
func (r *rescrubbing) compressed(c *layers.CompressedToolResult) {
	c.Tool, c.Summary = r.scrub(kindTurn, c.Tool), r.scrub(kindTurn, c.Summary)
	for _, list := range [...][]string{c.Entities, c.KeyFiles, c.ErrorPatterns, c.Pointers} {
		for i := range list {
			list[i] = r.scrub(kindTurn, list[i])
		}
	}
}

// callOf finds the call of a result among the turns up to its own, the newest
// first.
func (r *rescrubbing) callOf(conversation string, turn int, id string) (cleanCall, bool) {
	for n := turn; n > 0; n-- {
		for _, call := range slices.Backward(r.calls[conversation][n]) {
			if call.call.ID == id {
				return call, true
			}
		}
	}
	return cleanCall{}, false
}

// moved notes that a version of a turn has more tokens, and returns how much more
// the running total up to it has.
func (r *rescrubbing) moved(record *storage.Record, number int, tokens int64) (int64, error) {
	was, edited := r.turns[record.ID]
	total := r.turns[turnID(record.Parent, number-1)].total
	var err error
	switch {
	case edited:
		total = was.total - was.tokens
		newest, session, err := r.newestTurn(record)
		if err != nil {
			return 0, err
		}
		if !newest { // what follows has its total already; the line keeps the difference
			r.deltas[session] += tokens - was.tokens
		}
	case number == 1:
		if total, err = r.totalBefore(record); err != nil {
			return 0, err
		}
	}
	total += tokens
	r.tokens += tokens - was.tokens
	r.turns[record.ID] = turnMoved{tokens, total}
	return total, nil
}

// totalBefore is how much more the running total has before the first turn of a
// conversation.
func (r *rescrubbing) totalBefore(record *storage.Record) (int64, error) {
	v, err := r.view.At(record.Seq - 1)
	if err != nil {
		return 0, err
	}
	body, _, ok, err := latest[conversationRecord](v, kindConversation, record.Parent)
	if err != nil || !ok {
		return 0, err
	}
	l, err := lineOf(v, body.Session)
	if err != nil {
		return 0, err
	}
	for n := l.length - 1; n > 0; n-- {
		entries, err := l.list(n-1, n)
		if err != nil || len(entries) == 0 {
			return 0, err
		}
		if count := v.ListLen(listOfTurns(entries[0].ID)); count > 0 {
			return r.turns[turnID(entries[0].ID, count)].total, nil
		}
	}
	return 0, nil
}

// newestTurn tells whether a turn that was edited is its session's last.
func (r *rescrubbing) newestTurn(record *storage.Record) (newest bool, session string, err error) {
	v, err := r.view.At(record.Seq - 1)
	if err != nil {
		return false, "", err
	}
	body, _, _, err := latest[conversationRecord](v, kindConversation, record.Parent)
	if err != nil {
		return false, "", err
	}
	l, err := lineOf(v, body.Session)
	if err != nil {
		return false, "", err
	}
	entries, err := l.newest(1)
	if err != nil || len(entries) == 0 {
		return false, body.Session, err
	}
	return entries[0].ID == record.Parent && record.ID == turnID(record.Parent, v.ListLen(listOfTurns(record.Parent))), body.Session, nil
}

// output makes the record by which an output in a turn is found.
func (r *rescrubbing) output(record *storage.Record) (storage.Content, error) {
	body, err := read[outputRecord](*record)
	if err != nil || body.Blob.SHA256 == "" {
		return storage.Content{}, err
	}
	was := body
	body.Tool = r.scrub(kindOutput, body.Tool)
	changed := r.point(&body.Blob)
	if body == was {
		return storage.Content{}, nil
	}
	content := storage.Content{Body: encode(body)}
	if !changed {
		return content, nil
	}
	text, err := r.content(was.Blob.SHA256)
	words, mentions := foundBy(asText(text))
	content.Terms, content.Mentions = words, append([]storage.Mention{}, mentions...)
	return content, err
}

// tool makes the record of an output that was stored outside of a turn. What its
// call was is not recorded.
func (r *rescrubbing) tool(record *storage.Record) (storage.Content, error) {
	body, err := read[toolRecord](*record)
	if err != nil {
		return storage.Content{}, err
	}
	was := encode(body)
	body.Tool = r.scrub(kindTool, body.Tool)
	if r.point(&body.Blob) {
		text, err := r.content(record.ID)
		if err != nil {
			return storage.Content{}, err
		}
		body.Compressed = digest.ToolResult(digest.ToolOutput{Tool: body.Tool, Output: asText(text)}, r.ws.standard())
	} else {
		r.compressed(&body.Compressed)
	}
	if after := encode(body); string(after) != string(was) {
		return storage.Content{Body: after}, nil
	}
	return storage.Content{}, nil
}
