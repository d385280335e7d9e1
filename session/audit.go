package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"hexapla/layers"
	"hexapla/storage"
)

// auditRecord is the body of an audit entry: enough to tell what was in a pack
// and to build it again.
type auditRecord struct {
	Session  string         `json:"session"`
	Checksum string         `json:"checksum"`
	Previous string         `json:"previous,omitempty"` // checksum of the session's pack before, of the same layout
	Lost     int            `json:"lost,omitempty"`     // things that it showed in more detail
	Sequence int64          `json:"sequence"`
	Time     int64          `json:"time"`
	Request  PackRequest    `json:"request"`
	System   string         `json:"system,omitempty"` // name of the table that holds the system parts
	Sections []AuditSection `json:"sections"`
	Tokens   int            `json:"tokens"`
	Epoch    int64          `json:"epoch,omitempty"`
	// LaidOut is the profile of the newest fold; "" in entries of programs that knew
	// none.
	LaidOut  layers.ProfileName `json:"laidOut,omitempty"`
	Reason   string             `json:"reason,omitempty"` // of the epoch; "" in entries of programs that did not note it
	Dropped  []layers.Drop      `json:"dropped"`
	Drops    int                `json:"drops,omitempty"` // with those that are not listed
	Settings string             `json:"settings"`
	Measures *packMeasures      `json:"measures,omitempty"` // nil in entries of programs that did not measure
	// Tiers is what was built where it was no pack; nil in entries of packs.
	Tiers *tiersFacts `json:"tiers,omitempty"`
	// Redacted says that something that the pack may have shown was forgotten since.
	Redacted bool `json:"redacted,omitempty"`
}

// packMeasures is what metrics need to know of a pack beyond what is in it. It
// is taken down when the pack is built, so that figures survive the process.
type packMeasures struct {
	Bytes        int   `json:"bytes"`        // of the text
	Common       int   `json:"common"`       // bytes at its beginning that are those of the pack before
	CommonTokens int   `json:"commonTokens"` // of the items that lie in those
	Full         int64 `json:"full"`         // tokens of the same prompt with the full history
	FullBefore   int64 `json:"fullBefore"`   // of those, the ones that it had at the pack before
	Available    int   `json:"available"`    // tokens that the pack might use
	Forced       int   `json:"forced"`       // drops for want of room
	Micros       int64 `json:"micros"`       // µs that it took to build
}

// AuditSection is a section of a pack in the audit log.
type AuditSection struct {
	Name   string      `json:"name"`
	Tokens int         `json:"tokens"`
	Items  []AuditItem `json:"items,omitempty"` // none in entries of programs that did not note them
}

// AuditItem is an item of a section.
type AuditItem struct {
	ID     string `json:"id"`
	Detail string `json:"detail"`
	Tokens int    `json:"tokens"`
}

// auditTime reads the time of an entry's body, in Unix milliseconds. What cannot
// be read counts as old.
func auditTime(body []byte) int64 {
	var record struct {
		Time int64 `json:"time"`
	}
	_ = json.Unmarshal(body, &record)
	return record.Time
}

// maxAuditDrops bounds the drops that an audit entry lists; the pack built
// again has them all.
const maxAuditDrops = 50

// audit writes the pack to the audit log. It does not wait for the disk.
func (ws *Workspace) audit(session string, req PackRequest, reply *PackReply, measures *packMeasures) {
	// What was built before something was forgotten may speak of it.
	ws.retiring.RLock()
	defer ws.retiring.RUnlock()
	if ws.retired {
		return
	}
	pack := reply.Pack
	record := auditRecord{
		Session: session, Checksum: reply.Checksum, Previous: reply.Previous, Sequence: pack.Sequence, Time: ws.opts.Now(),
		Request: req, Tokens: pack.Used(), Epoch: pack.Epoch, Reason: pack.EpochReason, LaidOut: pack.LaidOut,
		Dropped: pack.Dropped[:min(len(pack.Dropped), maxAuditDrops)], Drops: len(pack.Dropped), Settings: pack.Settings, Measures: measures,
	}
	if reply.Loss != nil {
		record.Lost = reply.Loss.Items
	}
	for i := range pack.Sections {
		section := AuditSection{Name: pack.Sections[i].Name, Tokens: pack.Sections[i].Tokens, Items: make([]AuditItem, 0, len(pack.Sections[i].Items))}
		for _, item := range pack.Sections[i].Items {
			section.Items = append(section.Items, AuditItem{item.ID, item.Form.Detail, item.Form.Tokens})
		}
		record.Sections = append(record.Sections, section)
	}
	if len(req.System) > 0 {
		// The same system branch comes with every call; it is kept once.
		body := encode(req.System)
		record.System = "system/" + layers.Checksum(body)[:32]
		record.Request.System = nil
		if err := ws.keepTable(record.System, body); err != nil {
			ws.opts.Logf("workspace %s: audit: %v", ws.ID, err)
		}
	}
	if err := ws.keepTable(policyTable(pack.Settings), encode(settingsOf(&ws.opts))); err != nil {
		ws.opts.Logf("workspace %s: audit: %v", ws.ID, err)
	}
	ws.store.AppendAudit(reply.Checksum, encode(record))
}

// keepTable stores a table once.
func (ws *Workspace) keepTable(name string, body []byte) error {
	if _, ok := ws.tables.Load(name); ok {
		return nil
	}
	if err := ws.store.PutTable(name, body); err != nil {
		return err
	}
	ws.tables.Store(name, true)
	return nil
}

// policyTable is the table that holds the settings of a digest.
func policyTable(settings string) string { return "policy/" + settings }

// AuditEntry is one pack that was built.
type AuditEntry struct {
	Entry int64
	auditRecord
}

// AuditFilter chooses audit entries.
type AuditFilter struct {
	OnlySession bool
	Checksum    string
	From, To    int64  // sequences, both included; 0 means any
	Since       *int64 // Unix milliseconds, included; nil means any
	Until       *int64 // Unix milliseconds, not included; nil means any
	Reason      string // of the epoch; "" means any
	Before      int64  // entries with a smaller number; 0 means the newest
	Limit       int
}

// passes tells whether an entry is chosen.
func (f *AuditFilter) passes(r *auditRecord, session string) bool {
	return r.Tiers == nil && (!f.OnlySession || r.Session == session) &&
		(f.Checksum == "" || r.Checksum == f.Checksum) &&
		r.Sequence >= f.From && (f.To == 0 || r.Sequence <= f.To) &&
		(f.Since == nil || r.Time >= *f.Since) && (f.Until == nil || r.Time < *f.Until) &&
		(f.Reason == "" || r.Reason == f.Reason)
}

// Audit lists packs that were built, newest first. more is the number to go on
// before; 0 at the end.
func (s *Session) Audit(ctx context.Context, filter AuditFilter) (entries []AuditEntry, more int64, err error) {
	switch {
	case filter.From < 0:
		return nil, 0, invalid("fromSequence", "must not be negative")
	case filter.To < 0:
		return nil, 0, invalid("toSequence", "must not be negative")
	}
	switch filter.Reason {
	case "", layers.EpochStart, layers.EpochWindow, layers.EpochBudget, layers.EpochFill, layers.EpochOpening, layers.EpochProfile:
	default:
		return nil, 0, invalid("epochReason", "must be %q, %q, %q, %q, %q or %q",
			layers.EpochStart, layers.EpochWindow, layers.EpochBudget, layers.EpochFill, layers.EpochOpening, layers.EpochProfile)
	}
	err = s.Workspace.view(0, func(v storage.View) error {
		var failed error
		v.AuditRange(filter.Before, 0, func(entry int64, body []byte) bool {
			if failed = ctx.Err(); failed != nil {
				return false
			}
			if filter.Checksum != "" && !bytes.Contains(body, []byte(filter.Checksum)) {
				return true // before it is decoded
			}
			var record auditRecord
			if err := json.Unmarshal(body, &record); err != nil {
				failed = fmt.Errorf("read audit entry %d: %w", entry, err)
				return false
			}
			if !filter.passes(&record, s.ID) {
				return true
			}
			if len(entries) == filter.Limit {
				more = entries[len(entries)-1].Entry
				return false
			}
			entries = append(entries, AuditEntry{entry, record})
			return true
		})
		return failed
	})
	return entries, more, err
}

// auditRecordOf reads the newest entry of a checksum. The error is a
// NotFoundError that tells how far back the log goes.
func auditRecordOf(v storage.View, checksum string) (record auditRecord, err error) {
	_, body, ok := v.AuditByChecksum(checksum)
	if !ok {
		message := "no pack of this checksum was built in this workspace"
		if entry, oldest := v.AuditOldest(); entry > 1 {
			message = fmt.Sprintf("no pack of this checksum is in the audit log: it was never built in this workspace, or it was built before %s, and what is older was removed",
				time.UnixMilli(auditTime(oldest)).UTC().Format(time.RFC3339))
		}
		return record, &NotFoundError{Path: "checksum", Message: message}
	}
	if err := json.Unmarshal(body, &record); err != nil {
		return record, fmt.Errorf("read audit entry: %w", err)
	}
	if record.Tiers != nil {
		return auditRecord{}, &NotFoundError{Path: "checksum", Message: "it is of messages in tiers, which are no pack"}
	}
	return record, nil
}

// audited returns the newest audit entry of a checksum.
func (ws *Workspace) audited(checksum string) (record auditRecord, err error) {
	err = ws.view(0, func(v storage.View) (err error) {
		record, err = auditRecordOf(v, checksum)
		return err
	})
	return record, err
}

// newestReach is how many audit entries are looked at for the newest of a
// session.
const newestReach = 64

// newestAudited returns the newest pack of the session in a layout, if it is
// among the workspace's newest.
func (s *Session) newestAudited(layout layers.Layout) (record auditRecord, ok bool) {
	err := s.Workspace.view(0, func(v storage.View) error {
		v.AuditRange(0, newestReach, func(_ int64, body []byte) bool {
			var r auditRecord
			if json.Unmarshal(body, &r) == nil && r.Tiers == nil && r.Session == s.ID && r.Request.Layout == layout {
				record, ok = r, true
			}
			return !ok
		})
		return nil
	})
	return record, ok && err == nil
}

// Replay builds a pack of the audit log again, with the settings that it was built
// with.
func (s *Session) Replay(ctx context.Context, checksum string) (PackReply, error) {
	ws := s.Workspace
	record, err := ws.audited(checksum)
	if err != nil {
		return PackReply{}, err
	}
	var policy []byte
	err = ws.view(0, func(v storage.View) error {
		policy, _ = v.Table(policyTable(record.Settings))
		if record.System != "" {
			parts, ok := v.Table(record.System)
			if !ok {
				return fmt.Errorf("system branch of the pack: %w", ErrNotFound)
			}
			return json.Unmarshal(parts, &record.Request.System)
		}
		return nil
	})
	if err != nil {
		return PackReply{}, err
	}
	if record.Settings != ws.settings && policy != nil {
		then, err := parseSettings(policy)
		if err != nil {
			return PackReply{}, fmt.Errorf("settings of the pack: %w", err)
		}
		ws = ws.under(then, record.Settings)
	}
	req := record.Request
	req.AsOf = record.Sequence
	reply, err := ws.buildPack(ctx, record.Session, req)
	reply.Redacted = record.Redacted
	return reply, err
}
