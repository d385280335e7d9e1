package scrub

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Limits of settings.
const (
	maxOwnRules   = 100
	maxKeywords   = 20   // of one rule
	minKeyword    = 3    // bytes
	maxKeyword    = 64   // bytes
	maxExpression = 1000 // bytes
	maxAllow      = 100
	maxKnown      = 1000
	minKnown      = 6    // bytes: shorter values stand in too many texts
	maxKnownBytes = 4096 // of one value
	maxSummary    = 200  // patterns of one list
	maxPattern    = 512  // bytes
)

// SettingError says which setting cannot be used. It never holds its value.
type SettingError struct {
	Path    string // such as "secrets.rules[2].regex"
	Message string
	Limit   int64
}

func (e *SettingError) Error() string { return e.Path + ": " + e.Message }

// OwnRule is a rule of the client.
type OwnRule struct {
	// ID names the family: lower-case letters, digits and "-", at most 48.
	ID string `json:"id"`
	// Regex is an expression of RE2's syntax; the secret is its first group that is
	// not empty, or all of it. It is tried on 512 bytes around each keyword.
	Regex string `json:"regex"`
	// Keywords of which one must be there, in any case.
	Keywords []string `json:"keywords"`
}

// Settings say what is scrubbed. Nothing in a repository can change them: they
// come with initialize, from the client alone.
type Settings struct {
	// Secrets turns the built-in rules on.
	Secrets bool
	PII     PII
	Rules   []OwnRule
	// Allow are expressions; a value that one of them matches is left as it is.
	Allow []string
	// Known are values that are secrets wherever they stand. They are kept in
	// memory alone.
	Known []string
	// PathAllowlist are the file paths that may stand in headers, summaries and the
	// current context: glob patterns with *, ** and ?; all when nil.
	PathAllowlist []string
	// DomainAllowlist are the domains that may stand there, each with those below
	// it; all when nil.
	DomainAllowlist []string
}

// DefaultSettings looks for secrets, card numbers and IBANs. Mail addresses, phone
// numbers and IP addresses are left: code, logs and commits are full of them, they
// are what much work is about, and a wrong hit costs more than it saves.
func DefaultSettings() Settings {
	return Settings{Secrets: true, PII: PII{Cards: true, IBANs: true}}
}

// ParseSettings reads the members that are to differ from the default. A setting
// that cannot be used gives a *SettingError.
func ParseSettings(data []byte) (Settings, error) {
	s := DefaultSettings()
	in := struct {
		Enabled *bool `json:"enabled"`
		PII     struct {
			Cards  *bool  `json:"cards"`
			IBANs  *bool  `json:"ibans"`
			Mails  *bool  `json:"mails"`
			Phones *bool  `json:"phones"`
			IPs    *bool  `json:"ips"`
			Region string `json:"phoneRegion"`
		} `json:"pii"`
		Rules           []OwnRule `json:"rules"`
		Allow           []string  `json:"allow"`
		Known           []string  `json:"known"`
		PathAllowlist   []string  `json:"pathAllowlist"`
		DomainAllowlist []string  `json:"domainAllowlist"`
	}{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		// The decoder's message can hold a piece of a known value.
		return s, &SettingError{Path: "secrets", Message: "has an unknown member, or one of another type"}
	}
	for _, flag := range []struct{ from, to *bool }{
		{in.Enabled, &s.Secrets}, {in.PII.Cards, &s.PII.Cards}, {in.PII.IBANs, &s.PII.IBANs},
		{in.PII.Mails, &s.PII.Mails}, {in.PII.Phones, &s.PII.Phones}, {in.PII.IPs, &s.PII.IPs},
	} {
		if flag.from != nil {
			*flag.to = *flag.from
		}
	}
	s.PII.Region = strings.ToUpper(in.PII.Region)
	s.Rules, s.Allow, s.Known = in.Rules, in.Allow, in.Known
	s.PathAllowlist, s.DomainAllowlist = in.PathAllowlist, in.DomainAllowlist
	return s, s.check()
}

func (s *Settings) check() error {
	for _, list := range []struct {
		name         string
		length, most int
	}{
		{"rules", len(s.Rules), maxOwnRules}, {"allow", len(s.Allow), maxAllow}, {"known", len(s.Known), maxKnown},
		{"pathAllowlist", len(s.PathAllowlist), maxSummary}, {"domainAllowlist", len(s.DomainAllowlist), maxSummary},
	} {
		if list.length > list.most {
			return &SettingError{"secrets." + list.name, fmt.Sprintf("has %d entries, must have at most %d", list.length, list.most), int64(list.most)}
		}
	}
	if r := s.PII.Region; r != "" && (len(r) != 2 || !isUpper(r[0]) || !isUpper(r[1])) {
		return &SettingError{Path: "secrets.pii.phoneRegion", Message: "must be a country of two letters (ISO 3166)"}
	}
	for i, r := range s.Rules {
		path := fmt.Sprintf("secrets.rules[%d]", i)
		if !isRuleID(r.ID) {
			return &SettingError{path + ".id", "must have 1 to 48 lower-case letters, digits and hyphens", 48}
		}
		if err := checkExpression(path+".regex", r.Regex); err != nil {
			return err
		}
		if len(r.Keywords) == 0 || len(r.Keywords) > maxKeywords {
			return &SettingError{path + ".keywords", fmt.Sprintf("must have 1 to %d entries", maxKeywords), maxKeywords}
		}
		for k, word := range r.Keywords {
			if len(word) < minKeyword || len(word) > maxKeyword {
				return &SettingError{fmt.Sprintf("%s.keywords[%d]", path, k), fmt.Sprintf("must have %d to %d bytes", minKeyword, maxKeyword), maxKeyword}
			}
		}
	}
	for i, source := range s.Allow {
		if err := checkExpression(fmt.Sprintf("secrets.allow[%d]", i), source); err != nil {
			return err
		}
	}
	for i, value := range s.Known {
		path := fmt.Sprintf("secrets.known[%d]", i)
		if len(value) < minKnown || len(value) > maxKnownBytes {
			return &SettingError{path, fmt.Sprintf("must have %d to %d bytes", minKnown, maxKnownBytes), maxKnownBytes}
		}
		if !utf8.ValidString(value) || strings.TrimSpace(value) == "" {
			return &SettingError{Path: path, Message: "must be text that is not blank"}
		}
	}
	for _, list := range []struct {
		name    string
		entries []string
	}{{"pathAllowlist", s.PathAllowlist}, {"domainAllowlist", s.DomainAllowlist}} {
		for i, entry := range list.entries {
			if entry == "" || len(entry) > maxPattern {
				return &SettingError{fmt.Sprintf("secrets.%s[%d]", list.name, i), fmt.Sprintf("must have 1 to %d bytes", maxPattern), maxPattern}
			}
		}
	}
	return nil
}

func isRuleID(id string) bool {
	for _, c := range []byte(id) {
		if !('a' <= c && c <= 'z' || isDigit(c) || c == '-') {
			return false
		}
	}
	return id != "" && len(id) <= 48
}

func checkExpression(path, source string) error {
	if source == "" || len(source) > maxExpression {
		return &SettingError{path, fmt.Sprintf("must have 1 to %d bytes", maxExpression), maxExpression}
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return &SettingError{Path: path, Message: "is no expression of RE2's syntax"}
	}
	if re.MatchString("") {
		return &SettingError{Path: path, Message: "must not match the empty text"}
	}
	return nil
}
