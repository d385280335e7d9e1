package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hexapla/layers"
)

// settings are everything that is set and decides what a pack holds.
type settings struct {
	layers.Policy
	Profiles *layers.Profiles `json:"profiles,omitempty"` // nil in those of programs that knew none
	// Memory is nil for the default, so that packs of programs that knew no items
	// have the same digest.
	Memory *layers.MemoryPolicy `json:"memory,omitempty"`
}

func settingsOf(opts *workspaceOptions) settings {
	s := settings{Policy: opts.Policy}
	if opts.Profiles != (layers.Profiles{}) {
		s.Profiles = &opts.Profiles
	}
	if opts.Memory != layers.DefaultMemoryPolicy() {
		s.Memory = &opts.Memory
	}
	return s
}

// parseSettings reads what a pack of the past was built with.
func parseSettings(data []byte) (settings, error) {
	s := settings{Policy: layers.DefaultPolicy()}
	s.OpeningFoldPercent, s.HintCap, s.Fence, s.NamesExact, s.FillPassages = 0, 0, false, false, 0 // what programs did that do not name them
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return s, err
	}
	if s.Profiles != nil {
		if err := s.Profiles.Check(); err != nil {
			return s, err
		}
	}
	if s.Memory != nil {
		if err := s.Memory.Check(); err != nil {
			return s, err
		}
	}
	return s, s.Policy.Check()
}

// settingsDigest is the digest that packs record of the settings in force.
func settingsDigest(s settings) string {
	sum := sha256.Sum256(append(encode(s), layers.PolicyVersion...))
	return hex.EncodeToString(sum[:8])
}
