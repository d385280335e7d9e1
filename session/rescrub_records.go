package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/layers/terms"
	"hexapla/storage"
)

// cleanBlob is what becomes of a blob.
type cleanBlob struct {
	ref  layers.BlobRef // as it will be
	text bool           // it has other content, not only another type
	gone bool           // it cannot be read
}

// cleanCall is a tool call as it will be.
type cleanCall struct {
	call    layers.ToolCall
	changed bool
}

// turnMoved is how the newest version of a turn differs from what was recorded.
type turnMoved struct {
	tokens int64 // that it has more
	total  int64 // that the running total up to it has more
}

// ourNames are ids as this package makes them, and hashes.
var ourNames = regexp.MustCompile(`^(?:(?:[a-z]+:)?[a-z]\d+(?:@\d+)?(?:#(?:\d+|said))?(?:[/:]\d+)*|[0-9a-f]{8}-s\d+|m[0-9a-f]{16})$`)

// ourWords are what this package stores where others store text: kinds, details and
// the like. A client that names one of them as a secret does not mean these.
var ourWords = []string{
	"", "user", "shared", "assistant", "tool", "web", "user_query", "tool_response", "user_feedback", "ongoing", "completed", "error",
	layers.SourceRule, layers.SourceHousekeeping, "header", "summary", "full", "mixed", ChangeByCall,
	"create", "modify", "delete", "refactor", "rename", "low", "medium", "high", "positive", "negative", "neutral",
	"quota", "budget", "asked", "reAsked", "served", "used", "unused", "returned", "workspace", "balanced", "codeIntensive", "debugging",
	"exploration", "maintenance", "auto", "bugInvestigation", "refactoring", "featureDevelopment", "learning", "text/plain",
	"TASK", "CODE", "ERROR", "TEST_RESULT", "PRD_SECTION", "HOT", "WARM", "COLD",
}

// ours tells whether a text is a name that this package gave.
func ours(text string) bool {
	return len(text) < 64 && (slices.Contains(ourWords, text) || ourNames.MatchString(text))
}

// eachBlob calls fn with the references of a record to blobs.
func eachBlob(record *storage.Record, fn func(*layers.BlobRef)) error {
	switch record.Kind {
	case kindTurn:
		body, err := read[turnRecord](*record)
		for i := range body.Results {
			fn(&body.Results[i].Blob)
		}
		return err
	case kindOutput:
		body, err := read[outputRecord](*record)
		fn(&body.Blob)
		return err
	case kindTool:
		body, err := read[toolRecord](*record)
		fn(&body.Blob)
		return err
	}
	return nil
}

// readBlobs looks through all blobs that records refer to.
func (r *rescrubbing) readBlobs() error {
	known := map[string]layers.BlobRef{}
	var order []string
	err := r.view.Scan(0, r.view.Seq(), func(record storage.Record, _ []byte) error {
		if err := r.ctx.Err(); err != nil || record.Damaged || record.Erased() {
			return err
		}
		return eachBlob(&record, func(ref *layers.BlobRef) {
			if _, seen := known[ref.SHA256]; !seen && ref.SHA256 != "" {
				known[ref.SHA256] = *ref
				order = append(order, ref.SHA256)
			}
		})
	})
	if err != nil {
		return err
	}
	after := map[string]int64{}
	for _, sha := range order {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		data, ref, err := r.ws.store.ReadBlob(r.ctx, sha, 0, maxTextSize)
		switch {
		case err == nil:
		case r.ctx.Err() != nil:
			return r.ctx.Err()
		case errors.Is(err, storage.ErrBlobDamaged):
			r.done.Damaged++
			r.blobs[sha] = cleanBlob{gone: true}
			r.count--
			r.bytes -= known[sha].Size
			continue
		case errors.Is(err, storage.ErrNotFound):
			continue
		default:
			return err
		}
		clean := ref
		clean.MIME = r.scrub(kindOutput, ref.MIME)
		content := r.cleanContent(data)
		if content != nil {
			staged := storage.RefOf(content, clean.MIME)
			clean.SHA256, clean.Size = staged.SHA256, staged.Size
			r.done.Blobs++
		}
		if clean != ref || content != nil {
			r.blobs[sha] = cleanBlob{ref: clean, text: content != nil}
		}
		r.count--
		r.bytes -= ref.Size
		after[clean.SHA256] = clean.Size
	}
	for _, size := range after {
		r.count++
		r.bytes += size
	}
	return nil
}

// cleanContent is what an output will be; nil if it stays.
func (r *rescrubbing) cleanContent(data []byte) []byte {
	if !utf8.Valid(data) {
		if r.counting && len(r.scrubber.Find(asText(string(data)))) > 0 {
			r.done.Unreached++
		}
		return nil
	}
	if r.counting {
		r.done.Bytes += int64(len(data))
	}
	clean, found := r.scrubber.Scrub(string(data))
	r.found(kindOutput, found)
	if clean == string(data) {
		return nil
	}
	return []byte(clean)
}

// content reads an output as it will be.
func (r *rescrubbing) content(sha string) (string, error) {
	if sha == "" || r.blobs[sha].gone {
		return "", nil
	}
	data, _, err := r.ws.store.ReadBlob(r.ctx, sha, 0, maxTextSize)
	if errors.Is(err, storage.ErrNotFound) {
		return "", nil // it went with what could not be read
	}
	if err != nil {
		return "", err
	}
	if r.blobs[sha].text {
		clean, _ := r.scrubber.Scrub(string(data))
		return clean, nil
	}
	return string(data), nil
}

// point lets a reference to a blob follow it; changed tells that its text is
// another.
func (r *rescrubbing) point(ref *layers.BlobRef) (changed bool) {
	mime := ref.MIME
	if to, ok := r.blobs[ref.SHA256]; ok && !to.gone {
		ref.SHA256, ref.Size, changed = to.ref.SHA256, to.ref.Size, to.text
	}
	ref.MIME, _ = r.scrubber.Scrub(mime)
	return changed
}

// readRecords makes of every record what it will be.
func (r *rescrubbing) readRecords() error {
	return r.view.Scan(0, r.view.Seq(), func(record storage.Record, words []byte) error {
		if err := r.ctx.Err(); err != nil || record.Erased() {
			return err
		}
		if record.Damaged {
			r.done.Damaged++
			return nil
		}
		content, err := r.record(&record, words)
		if err != nil {
			return fmt.Errorf("%s at %d: %w", record.Kind, record.Seq, err)
		}
		if id := r.idOf(&record); id != record.ID {
			content.ID = id
		}
		if parent := r.name(record.Parent); parent != record.Parent {
			content.Parent = parent
		}
		if content.Body == nil && content.ID == "" && content.Parent == "" {
			return nil
		}
		if r.first == 0 {
			r.first = record.Seq
		}
		if content.Body == nil {
			content.Body = record.Body
		}
		if content.Terms == nil && content.Mentions == nil {
			content.Terms = words
		}
		r.records[record.Seq] = content
		return nil
	})
}

// idOf is the id that a record will have.
func (r *rescrubbing) idOf(record *storage.Record) string {
	if record.Kind == kindTool {
		if to, ok := r.blobs[record.ID]; ok && !to.gone {
			return to.ref.SHA256
		}
		return record.ID
	}
	return r.name(record.ID)
}

// record makes the content of one record; without a body it stays.
func (r *rescrubbing) record(record *storage.Record, words []byte) (storage.Content, error) {
	switch record.Kind {
	case kindTurn:
		return r.turn(record)
	case kindOutput:
		return r.output(record)
	case kindTool:
		return r.tool(record)
	}
	switch record.Kind {
	case kindLine:
		return r.line(record)
	case kindMessage:
		body, err := read[messageRecord](*record)
		if err != nil {
			return storage.Content{}, err
		}
		if clean := r.json(kindMessage, body.Message); clean != body.Message {
			return storage.Content{Body: encode(messageRecord{clean}), Terms: words}, nil
		}
		return storage.Content{}, nil
	}
	body, changed, err := MapTexts(record.Kind, record.Body, func(text string) string { return r.scrub(record.Kind, text) })
	if err != nil {
		return storage.Content{}, err
	}
	switch record.Kind {
	case kindContext:
		if err := r.noteContext(record); err != nil {
			return storage.Content{}, err
		}
	case kindHousekeeping:
		if changed {
			r.touched[record.ID] = 0 // the trio that it made stands before it
		}
	}
	if !changed {
		return storage.Content{}, nil
	}
	content := storage.Content{Body: body, Terms: words}
	switch record.Kind {
	case kindTrio:
		var trio trioRecord
		if err := json.Unmarshal(body, &trio); err != nil {
			return content, err
		}
		r.touch(record.ID, record.Seq)
		content.Terms = trioWords(&trio, record.ID)
	case kindItem:
		var item itemRecord
		if err := json.Unmarshal(body, &item); err != nil {
			return content, err
		}
		item.Tokens = r.ws.standard().Count(item.Content)
		content.Body = encode(item)
	case kindChange:
		return r.change(record, content)
	}
	return content, nil
}

func (r *rescrubbing) touch(conversation string, seq int64) {
	if _, ok := r.touched[conversation]; !ok {
		r.touched[conversation] = seq
	}
}

// trioWords are the words that a trio is found by.
func trioWords(trio *trioRecord, id string) []byte {
	text := digest.RenderHeader(trio.Header) + digest.RenderSummary(trio.Summary, id)
	return terms.NewDoc(text, digest.EntitiesOf(text)).Encode()
}

// change has the first version of a change found by the names that it has.
func (r *rescrubbing) change(record *storage.Record, content storage.Content) (storage.Content, error) {
	before, err := r.view.At(record.Seq - 1)
	if err != nil {
		return content, err
	}
	_, later, err := before.Latest(kindChange, record.ID)
	if err != nil || later {
		return content, err
	}
	var body changeRecord
	if err := json.Unmarshal(content.Body, &body); err != nil {
		return content, err
	}
	content.Mentions = append([]storage.Mention{}, body.mentions()...)
	return content, nil
}

// line corrects the tokens that edits added to a session's, and the names of its
// lists.
func (r *rescrubbing) line(record *storage.Record) (storage.Content, error) {
	left, err := read[lineRecord](*record)
	if err != nil {
		return storage.Content{}, err
	}
	was := encode(left)
	left.List = r.list(left.List)
	for i := range left.Spans {
		left.Spans[i].List = r.list(left.Spans[i].List)
	}
	if left.Delta == 0 { // the totals that follow have it
		r.deltas[record.ID] = 0
	}
	left.Delta += r.deltas[record.ID]
	if after := encode(left); string(after) != string(was) {
		return storage.Content{Body: after}, nil
	}
	return storage.Content{}, nil
}

// list is the name that a list will have: sessions, aliases and models have lists
// that are named after them.
func (r *rescrubbing) list(name string) string {
	to, known := r.lists[name]
	if known {
		return to
	}
	to = name
	if rest, ok := strings.CutPrefix(name, "session/"); ok {
		if id, tail, ok := strings.Cut(rest, "/"); ok {
			to = "session/" + r.name(id) + "/" + tail
		}
	} else if model, ok := strings.CutPrefix(name, "usage/"); ok {
		to = "usage/" + r.name(model)
	} else if agent, ok := strings.CutPrefix(name, "tiers/"); ok {
		to = "tiers/" + r.name(agent)
	} else if agent, ok := strings.CutPrefix(name, "checkpoints/"); ok {
		to = "checkpoints/" + r.name(agent)
	}
	r.lists[name] = to
	return to
}
