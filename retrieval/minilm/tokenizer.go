package minilm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// tokenizer is WordPiece as BERT's uncased models have it.
type tokenizer struct {
	ids                 map[string]int32
	begin, end, unknown int32
	special             []specialToken
	words               int // ids there are
}

type specialToken struct {
	name string
	id   int32
}

const (
	maxVocabulary = 8 << 20 // bytes of a file
	maxWordRunes  = 100     // a longer word is unknown
)

// readVocabulary reads vocab.txt of a folder, or tokenizer.json where there is
// none.
func readVocabulary(dir string) (*tokenizer, error) {
	raw, err := readBounded(filepath.Join(dir, "vocab.txt"))
	if err == nil {
		return newTokenizer(parseVocabulary(raw))
	}
	raw, jsonErr := readBounded(filepath.Join(dir, "tokenizer.json"))
	if jsonErr != nil {
		return nil, err
	}
	var file struct {
		Model struct {
			Vocab map[string]int32 `json:"vocab"`
		} `json:"model"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", ErrFormat)
	}
	return newTokenizer(file.Model.Vocab)
}

func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxVocabulary {
		return nil, fmt.Errorf("vocabulary of %d bytes: %w", info.Size(), ErrFormat)
	}
	return os.ReadFile(path)
}

// parseVocabulary reads a file of one token a line; a token's id is its line's
// number from 0.
func parseVocabulary(raw []byte) map[string]int32 {
	ids := make(map[string]int32, 1<<15)
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, maxVocabulary)
	for id := int32(0); lines.Scan(); id++ {
		ids[strings.TrimRight(lines.Text(), "\r")] = id
	}
	return ids
}

func newTokenizer(ids map[string]int32) (*tokenizer, error) {
	t := &tokenizer{ids: ids, words: len(ids)}
	for _, id := range ids {
		if id < 0 || int(id) >= len(ids) {
			return nil, fmt.Errorf("ids of tokens: %w", ErrFormat)
		}
	}
	for _, name := range [...]string{"[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]"} {
		id, ok := ids[name]
		if !ok {
			return nil, fmt.Errorf("no token %s: %w", name, ErrFormat)
		}
		t.special = append(t.special, specialToken{name, id})
	}
	t.begin, t.end, t.unknown = t.special[0].id, t.special[1].id, t.special[2].id
	return t, nil
}

// tokens returns the ids of a text, at most limit of them, framed by those of
// beginning and end.
func (t *tokenizer) tokens(text string, limit int) []int32 {
	if len(text) > maxInputBytes {
		text = strings.ToValidUTF8(text[:maxInputBytes], "")
	}
	ids := append(make([]int32, 0, limit), t.begin)
	for text != "" && len(ids) < limit-1 {
		plain, next := text, ""
		special := int32(-1)
		for at := 0; special < 0; at++ {
			step := strings.IndexByte(text[at:], '[')
			if step < 0 {
				break
			}
			at += step
			for _, s := range t.special {
				if strings.HasPrefix(text[at:], s.name) {
					plain, next, special = text[:at], text[at+len(s.name):], s.id
					break
				}
			}
		}
		ids = t.pieces(ids, plain, limit-1)
		if special >= 0 && len(ids) < limit-1 {
			ids = append(ids, special)
		}
		text = next
	}
	return append(ids, t.end)
}

// pieces adds the ids of a text without special tokens until there are limit.
func (t *tokenizer) pieces(ids []int32, text string, limit int) []int32 {
	word := make([]byte, 0, 64)
	flush := func() {
		if len(word) > 0 {
			ids = t.word(ids, word)
			word = word[:0]
		}
	}
	for _, r := range clean(text) {
		switch {
		case len(ids) >= limit:
			return ids[:limit]
		case unicode.IsSpace(r):
			flush()
		case isPunctuation(r):
			flush()
			ids = t.word(ids, utf8.AppendRune(word, r))
		default:
			word = utf8.AppendRune(word, r)
		}
	}
	flush()
	return ids[:min(len(ids), limit)]
}

// clean takes out what says nothing, puts blanks around ideographs, takes marks
// off letters and makes them small.
func clean(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		switch {
		case r == 0 || r == utf8.RuneError || isControl(r):
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case isIdeograph(r):
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	text = b.String()
	b.Reset()
	for _, r := range norm.NFD.String(text) {
		if r < utf8.RuneSelf || !unicode.Is(unicode.Mn, r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

func isControl(r rune) bool {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return false
	case r < utf8.RuneSelf:
		return r < ' ' || r == 0x7F
	}
	return unicode.In(r, unicode.C, unicode.Cn)
}

func isPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' && r < 0x7F
	}
	return unicode.IsPunct(r)
}

func isIdeograph(r rune) bool {
	switch {
	case r < 0x3400:
		return false
	case r <= 0x4DBF, 0x4E00 <= r && r <= 0x9FFF, 0xF900 <= r && r <= 0xFAFF,
		0x20000 <= r && r <= 0x2A6DF, 0x2A700 <= r && r <= 0x2B73F, 0x2B740 <= r && r <= 0x2B81F,
		0x2B920 <= r && r <= 0x2CEAF, 0x2F800 <= r && r <= 0x2FA1F:
		return true
	}
	return false
}

// word adds the ids of a word: the longest known beginning, and so on.
func (t *tokenizer) word(ids []int32, word []byte) []int32 {
	if utf8.RuneCount(word) > maxWordRunes {
		return append(ids, t.unknown)
	}
	from := len(ids)
	name := make([]byte, 0, len(word)+2)
	for rest, first := word, true; len(rest) > 0; first = false {
		end := len(rest)
		found := false
		for ; end > 0; end-- {
			if end < len(rest) && !utf8.RuneStart(rest[end]) {
				continue
			}
			name = name[:0]
			if !first {
				name = append(name, "##"...)
			}
			name = append(name, rest[:end]...)
			if id, ok := t.ids[string(name)]; ok {
				ids, found = append(ids, id), true
				break
			}
		}
		if !found {
			return append(ids[:from], t.unknown)
		}
		rest = rest[end:]
	}
	return ids
}
