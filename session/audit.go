package session

import (
	"context"
	"encoding/json"
	"fmt"

	"hexapla/layers"
	"hexapla/storage"
)

// auditRecord is the body of an audit entry: enough to tell what was in a pack
// and to build it again.
type auditRecord struct {
	Session  string        `json:"session"`
	Checksum string        `json:"checksum"`
	Previous string        `json:"previous,omitempty"` // checksum of the session's pack before, of the same layout
	Lost     int           `json:"lost,omitempty"`     // things that it showed in more detail
	Sequence int64         `json:"sequence"`
	Time     int64         `json:"time"`
	Request  PackRequest   `json:"request"`
	System   string        `json:"system,omitempty"` // name of the table that holds the system parts
	Sections []auditTokens `json:"sections"`
	Tokens   int           `json:"tokens"`
	Dropped  []layers.Drop `json:"dropped"`
	Settings string        `json:"settings"`
	Measures *packMeasures `json:"measures,omitempty"` // nil in entries of programs that did not measure
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

type auditTokens struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
}

// maxAuditDrops bounds the drops that an audit entry lists; the pack built
// again has them all.
const maxAuditDrops = 50

// audit writes the pack to the audit log. It does not wait for the disk.
func (ws *Workspace) audit(session string, req PackRequest, reply *PackReply, measures *packMeasures) {
	pack := reply.Pack
	record := auditRecord{
		Session: session, Checksum: reply.Checksum, Previous: reply.Previous, Sequence: pack.Sequence, Time: ws.opts.Now(),
		Request: req, Tokens: pack.Used(), Dropped: pack.Dropped[:min(len(pack.Dropped), maxAuditDrops)], Settings: pack.Settings,
		Measures: measures,
	}
	if reply.Loss != nil {
		record.Lost = reply.Loss.Items
	}
	for i := range pack.Sections {
		record.Sections = append(record.Sections, auditTokens{pack.Sections[i].Name, pack.Sections[i].Tokens})
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
	if err := ws.keepTable(policyTable(pack.Settings), encode(ws.opts.Policy)); err != nil {
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

// policyTable is the table that holds the policy of a settings digest.
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
	Before      int64 // entries with a smaller number; 0 means the newest
	Limit       int
}

// Audit lists packs that were built, newest first. more is the number to go on
// before; 0 at the end.
func (s *Session) Audit(filter AuditFilter) (entries []AuditEntry, more int64, err error) {
	err = s.Workspace.view(0, func(v storage.View) error {
		add := func(entry int64, body []byte) (bool, error) {
			var record auditRecord
			if err := json.Unmarshal(body, &record); err != nil {
				return false, fmt.Errorf("read audit entry %d: %w", entry, err)
			}
			if filter.OnlySession && record.Session != s.ID {
				return true, nil
			}
			if len(entries) == filter.Limit {
				more = entries[len(entries)-1].Entry
				return false, nil
			}
			entries = append(entries, AuditEntry{entry, record})
			return true, nil
		}
		if filter.Checksum != "" {
			if entry, body, ok := v.AuditByChecksum(filter.Checksum); ok {
				_, err := add(entry, body)
				return err
			}
			return nil
		}
		var failed error
		v.AuditRange(filter.Before, 0, func(entry int64, body []byte) bool {
			goOn, err := add(entry, body)
			failed = err
			return goOn && err == nil
		})
		return failed
	})
	return entries, more, err
}

// audited returns the newest audit entry of a checksum.
func (ws *Workspace) audited(checksum string) (record auditRecord, err error) {
	err = ws.view(0, func(v storage.View) error {
		_, body, ok := v.AuditByChecksum(checksum)
		if !ok {
			return fmt.Errorf("no pack of this checksum: %w", ErrNotFound)
		}
		if err := json.Unmarshal(body, &record); err != nil {
			return fmt.Errorf("read audit entry: %w", err)
		}
		return nil
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
			if json.Unmarshal(body, &r) == nil && r.Session == s.ID && r.Request.Layout == layout {
				record, ok = r, true
			}
			return !ok
		})
		return nil
	})
	return record, ok && err == nil
}

// Replay builds a pack of the audit log again, with the policy that it was built
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
		then, err := layers.ParsePolicy(policy, layers.DefaultPolicy())
		if err != nil {
			return PackReply{}, fmt.Errorf("policy of the pack: %w", err)
		}
		ws = ws.withPolicy(then)
	}
	req := record.Request
	req.AsOf = record.Sequence
	return ws.buildPack(ctx, record.Session, req)
}
