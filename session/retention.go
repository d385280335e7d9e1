package session

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// AuditRetention bounds the audit log of each workspace; what is over a bound is
// removed, oldest first, when a pack is built. 0 means the default of
// storage.Options.
type AuditRetention struct {
	Entries int   `json:"entries"`
	Bytes   int64 `json:"bytes"`
	Days    int   `json:"days"`
}

// ParseAuditRetention reads the members that are to differ from the default.
// A number that is out of range gives an *InvalidError.
func ParseAuditRetention(data []byte) (AuditRetention, error) {
	var r AuditRetention
	var given map[string]json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return r, fmt.Errorf("audit: %w", err)
	}
	if err := json.Unmarshal(data, &given); err != nil {
		return r, fmt.Errorf("audit: %w", err)
	}
	for _, c := range []struct {
		name               string
		value, least, most int64
	}{
		{"entries", int64(r.Entries), 1, 1_000_000},
		{"bytes", r.Bytes, 1 << 16, 1 << 40},
		{"days", int64(r.Days), 1, 36_500},
	} {
		if _, ok := given[c.name]; !ok {
			continue
		}
		bad := InvalidError{Path: "audit." + c.name, Message: fmt.Sprintf("is %d, must be from %d to %d", c.value, c.least, c.most)}
		switch {
		case c.value < c.least:
			bad.Limit = c.least
			return r, &bad
		case c.value > c.most:
			bad.Limit = c.most
			return r, &bad
		}
	}
	return r, nil
}
