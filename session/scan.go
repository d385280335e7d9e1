package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hexapla/layers/scrub"
	"hexapla/storage"
)

// ScanRequest asks for secrets in a text, or in everything that the workspace has.
type ScanRequest struct {
	Text   *string // nil for the workspace
	Limit  int     // of findings that are listed; 0 for the default
	Cursor string
}

// ScanFinding is a secret that was found, without its value.
type ScanFinding struct {
	scrub.Finding
	Kind         string // of the record; "output" in a blob, "audit" in the audit log, "text" in the text given
	Record       string // its id; of an audit entry its number
	Conversation string // "" where it is in none
	Turn         int
	Blob         string // SHA-256
	Sequence     int64
	Line         int // of the text given, from 1
}

// ScanReply is what was found. Families counts also what is not listed.
type ScanReply struct {
	Findings []ScanFinding
	Families []scrub.FamilyCount
	Records  int
	Blobs    int
	Bytes    int64
	Damaged  int
	Cursor   string
	Sequence int64
}

const (
	defaultFindings = 100
	maxFindings     = 1000
	// maxScanBytes bounds the text that one call looks through.
	maxScanBytes = 64 << 20
)

// ScanSecrets looks for what the door would replace now: in what was recorded by
// programs without one, before a value was named, or with other settings. It reads
// all versions of all records, tool outputs, and the audit log with the inputs of
// packs. It changes nothing.
func (s *Session) ScanSecrets(ctx context.Context, req ScanRequest) (ScanReply, error) {
	sc := &scan{ws: s.Workspace, scrubber: s.service.scrubberFor(s.Workspace), ctx: ctx, limit: req.Limit, blobs: map[string]bool{}}
	switch {
	case req.Limit < 0 || req.Limit > maxFindings:
		return sc.reply, &InvalidError{Path: "limit", Message: "out of range", Limit: maxFindings}
	case req.Limit == 0:
		sc.limit = defaultFindings
	case req.Text != nil && len(*req.Text) > maxTextSize:
		return sc.reply, &TooLargeError{Path: "text", Limit: maxTextSize}
	}
	sc.reply.Sequence = s.Workspace.store.Seq()
	if req.Text != nil {
		if req.Cursor != "" {
			return sc.reply, invalid("cursor", "is for the workspace, not for a text")
		}
		sc.given(*req.Text)
		return sc.end(), nil
	}
	phase, from, upTo, err := parseScanCursor(req.Cursor, sc.reply.Sequence)
	if err != nil {
		return sc.reply, err
	}
	sc.reply.Sequence = upTo
	if phase == "r" {
		done, err := sc.records(from, upTo)
		if err != nil || !done {
			return sc.end(), err
		}
		from = 0
	}
	err = sc.audit(from, upTo)
	return sc.end(), err
}

// parseScanCursor reads where a scan goes on: in the records behind a sequence, or
// in the audit log before an entry.
func parseScanCursor(cursor string, newest int64) (phase string, from, upTo int64, err error) {
	if cursor == "" {
		return "r", 0, newest, nil
	}
	at, seq, ok := strings.Cut(cursor, "@")
	if ok && len(at) > 1 && (at[0] == 'r' || at[0] == 'a') {
		from, err = strconv.ParseInt(at[1:], 10, 64)
		if err == nil {
			upTo, err = strconv.ParseInt(seq, 10, 64)
		}
		if err == nil && from >= 0 && upTo >= 0 && upTo <= newest {
			return at[:1], from, upTo, nil
		}
	}
	return "", 0, 0, invalid("cursor", "is not a cursor of this method")
}

// scan is one call.
type scan struct {
	ws       *Workspace
	scrubber *scrub.Scrubber
	ctx      context.Context
	limit    int
	reply    ScanReply
	all      []scrub.Finding
	blobs    map[string]bool // that were looked through
}

func (sc *scan) end() ScanReply {
	sc.reply.Families = scrub.Families(sc.all)
	return sc.reply
}

// full tells whether the call has done its share.
func (sc *scan) full() bool { return len(sc.all) >= sc.limit || sc.reply.Bytes >= maxScanBytes }

// text looks through a text that stands at a place.
func (sc *scan) text(text string, at ScanFinding) {
	sc.reply.Bytes += int64(len(text))
	line, from := 1, 0
	for _, f := range sc.scrubber.Find(text) {
		sc.all = append(sc.all, f)
		if len(sc.reply.Findings) < sc.limit {
			if at.Kind == "text" {
				line, from = line+strings.Count(text[from:f.Offset], "\n"), f.Offset
				at.Line = line
			}
			at.Finding = f
			sc.reply.Findings = append(sc.reply.Findings, at)
		}
	}
}

func (sc *scan) given(text string) { sc.text(text, ScanFinding{Kind: "text"}) }

// errScanFull ends a scan of the store that has done its share.
var errScanFull = errors.New("session: the scan goes on with the next call")

// records looks through the records behind a sequence; done tells that it came to
// the end.
func (sc *scan) records(from, upTo int64) (done bool, err error) {
	err = sc.ws.store.Scan(sc.ctx, from, upTo, func(r storage.Record, _ []byte) error {
		if err := sc.ctx.Err(); err != nil {
			return err
		}
		if sc.full() {
			return errScanFull
		}
		from = r.Seq
		sc.reply.Records++
		if r.Damaged {
			sc.reply.Damaged++
			return nil
		}
		return sc.record(r)
	})
	if err == errScanFull {
		sc.reply.Cursor = fmt.Sprintf("r%d@%d", from, upTo)
		return false, nil
	}
	return err == nil, err
}

func (sc *scan) record(r storage.Record) error {
	id, _ := sc.scrubber.Scrub(r.ID)
	at := ScanFinding{Kind: r.Kind, Record: id, Sequence: r.Seq}
	blob := ""
	switch r.Kind {
	case kindConversation, kindTrio, kindHousekeeping:
		at.Conversation = id
	case kindTurn, kindVersion:
		at.Conversation, at.Turn = turnOf(id)
	case kindOutput:
		var body outputRecord
		if err := json.Unmarshal(r.Body, &body); err != nil {
			sc.reply.Damaged++
			return nil
		}
		at.Conversation, at.Turn, blob = r.Parent, body.Turn, body.Blob.SHA256
	case kindTool:
		blob = r.ID
	}
	sc.text(r.ID, at)
	if _, _, err := MapTexts(r.Kind, r.Body, func(text string) string {
		sc.text(text, at)
		return text
	}); err != nil {
		sc.reply.Damaged++
	}
	if blob == "" || sc.blobs[blob] {
		return nil
	}
	sc.blobs[blob] = true
	data, _, err := sc.ws.store.ReadBlob(sc.ctx, blob, 0, maxTextSize)
	if err != nil {
		if sc.ctx.Err() != nil {
			return sc.ctx.Err()
		}
		sc.reply.Damaged++
		return nil
	}
	sc.reply.Blobs++
	at.Kind, at.Blob = kindOutput, blob
	sc.text(string(data), at)
	return nil
}

// turnOf takes the id of a turn apart.
func turnOf(id string) (conversation string, turn int) {
	conversation, rest, _ := strings.Cut(id, "#")
	conversation, _, _ = strings.Cut(conversation, "@")
	rest, _, _ = strings.Cut(rest, "/")
	turn, _ = strconv.Atoi(rest) // 0 where the id has none
	return conversation, turn
}

// audit looks through the audit log before an entry; 0 means from the newest on.
func (sc *scan) audit(before, upTo int64) error {
	return sc.ws.view(0, func(v storage.View) error {
		var failed error
		last := before
		v.AuditRange(before, 0, func(entry int64, body []byte) bool {
			if failed = sc.ctx.Err(); failed != nil {
				return false
			}
			if sc.full() && last != before {
				sc.reply.Cursor = fmt.Sprintf("a%d@%d", last, upTo)
				return false
			}
			last = entry
			at := ScanFinding{Kind: "audit", Record: strconv.FormatInt(entry, 10)}
			visit := func(text string) string {
				sc.text(text, at)
				return text
			}
			walkRaw(body, visit, func(value any) any { stringsOf(value, func(text string) { visit(text) }); return value })
			return true
		})
		return failed
	})
}

// stringsOf visits the strings in a value of JSON.
func stringsOf(value any, visit func(string)) {
	switch v := value.(type) {
	case string:
		visit(v)
	case []any:
		for _, one := range v {
			stringsOf(one, visit)
		}
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			stringsOf(v[name], visit)
		}
	}
}
