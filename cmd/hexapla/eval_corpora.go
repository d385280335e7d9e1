package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"hexapla/internal/transcript"
	"hexapla/layers"
)

// readCorpora reads a retrieval set below a data folder; fs.ErrNotExist if the
// folder has none.
func readCorpora(data, set string) ([]*corpus, error) {
	switch set {
	case setBeam:
		return readEach(filepath.Join(data, "beam", "*.chat.json"), readBeam)
	case setLocomo:
		names, err := filepath.Glob(filepath.Join(data, "locomo", "*.json"))
		if err != nil || len(names) == 0 {
			return nil, missing(data, set, err)
		}
		var all []*corpus
		for _, name := range names {
			dialogs, err := readLocomo(name)
			if err != nil {
				return nil, err
			}
			all = append(all, dialogs...)
		}
		return all, nil
	case setRealtalk:
		return readEach(filepath.Join(data, "realtalk", "*.json"), readRealtalk)
	case setClaudeCode:
		return single(readSharedFiles(data))
	default:
		return single(readBranches(data))
	}
}

func single(c *corpus, err error) ([]*corpus, error) {
	if err != nil {
		return nil, err
	}
	return []*corpus{c}, nil
}

func missing(data, set string, err error) error {
	if err != nil {
		return err
	}
	return &fs.PathError{Op: "read", Path: filepath.Join(data, set), Err: fs.ErrNotExist}
}

// readEach reads one corpus a file.
func readEach(pattern string, read func(name string) (*corpus, error)) ([]*corpus, error) {
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		return nil, missing(filepath.Dir(pattern), "", err)
	}
	var all []*corpus
	for _, name := range names {
		c, err := read(name)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// readJSON reads a file into v.
func readJSON(name string, v any) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// beamMark ends the messages of a user in BEAM; it tells where in the plan of
// the chat a message stands.
var beamMark = regexp.MustCompile(`\s*->->\s*[\d,\s]+$`)

// readBeam reads a chat with a model. Each message of the user opens a
// conversation, which is the unit of the set.
func readBeam(name string) (*corpus, error) {
	var batches []struct {
		Turns [][]struct {
			Role    string `json:"role"`
			ID      int    `json:"id"`
			Content string `json:"content"`
		} `json:"turns"`
	}
	if err := readJSON(name, &batches); err != nil {
		return nil, err
	}
	c := &corpus{name: strings.TrimSuffix(filepath.Base(name), ".chat.json")}
	places := map[int]messagePlace{}
	var exchange []transcript.Message
	finish := func() {
		if len(exchange) > 0 {
			c.sessions = append(c.sessions, inMemory(fmt.Sprint(len(c.sessions)+1), exchange))
			exchange = nil
		}
	}
	for _, b := range batches {
		for _, group := range b.Turns {
			for _, m := range group {
				role := layers.RoleAssistant
				if m.Role == "user" {
					role = layers.RoleUser
					finish()
				}
				places[m.ID] = messagePlace{len(c.sessions), len(exchange)}
				exchange = append(exchange, chatMessage(role, len(exchange) == 0, beamMark.ReplaceAllString(m.Content, ""), 0))
			}
		}
	}
	finish()
	var kinds map[string][]struct {
		Question string          `json:"question"`
		Source   json.RawMessage `json:"source_chat_ids"`
	}
	if err := readJSON(strings.TrimSuffix(name, ".chat.json")+".questions.json", &kinds); err != nil {
		return nil, err
	}
	for _, kind := range sortedKeys(kinds) {
		for _, q := range kinds[kind] {
			var gold []messagePlace
			for _, id := range sourceIDs(q.Source) {
				if p, ok := places[id]; ok {
					gold = append(gold, p)
				}
			}
			c.ask(q.Question, gold)
		}
	}
	return c, nil
}

// sourceIDs reads ids in a list, or in lists by name.
func sourceIDs(raw json.RawMessage) []int {
	var ids []int
	if json.Unmarshal(raw, &ids) == nil {
		return ids
	}
	var named map[string]json.RawMessage
	if json.Unmarshal(raw, &named) != nil {
		return nil
	}
	ids = nil
	for _, name := range sortedKeys(named) {
		ids = append(ids, sourceIDs(named[name])...)
	}
	return ids
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// chatTurn is a message in LoCoMo or REALTALK.
type chatTurn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
	Clean   string `json:"clean_text"`
	Caption string `json:"blip_caption"`
}

// chatQuestion is a question in LoCoMo or REALTALK.
type chatQuestion struct {
	Question string   `json:"question"`
	Evidence []string `json:"evidence"`
}

func readLocomo(name string) ([]*corpus, error) {
	var dialogs []struct {
		Conversation map[string]json.RawMessage `json:"conversation"`
		QA           []chatQuestion             `json:"qa"`
	}
	if err := readJSON(name, &dialogs); err != nil {
		return nil, err
	}
	var all []*corpus
	for i, d := range dialogs {
		c, err := chatCorpus(fmt.Sprintf("dialog %d", i+1), d.Conversation, d.QA)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, c)
	}
	return all, nil
}

func readRealtalk(name string) (*corpus, error) {
	var members map[string]json.RawMessage
	if err := readJSON(name, &members); err != nil {
		return nil, err
	}
	var questions []chatQuestion
	if err := json.Unmarshal(members["qa"], &questions); err != nil {
		return nil, fmt.Errorf("%s: qa: %w", name, err)
	}
	c, err := chatCorpus(strings.TrimSuffix(filepath.Base(name), ".json"), members, questions)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// chatCorpus makes a corpus of a chat in numbered sessions, each of which is a
// conversation. Questions without evidence that exists are left out.
func chatCorpus(name string, members map[string]json.RawMessage, questions []chatQuestion) (*corpus, error) {
	c := &corpus{name: name}
	places := map[string]messagePlace{}
	for n := 1; ; n++ {
		key := fmt.Sprintf("session_%d", n)
		raw, ok := members[key]
		if !ok {
			break
		}
		var turns []chatTurn
		if err := json.Unmarshal(raw, &turns); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if len(turns) == 0 {
			continue
		}
		at := sessionTime(members[key+"_date_time"])
		var messages []transcript.Message
		for i, turn := range turns {
			text := turn.Speaker + ": " + cmp.Or(turn.Text, turn.Clean)
			if turn.Caption != "" {
				text += " [image: " + turn.Caption + "]"
			}
			role := layers.RoleAssistant
			if turn.Speaker == turns[0].Speaker {
				role = layers.RoleUser
			}
			places[turn.ID] = messagePlace{len(c.sessions), i}
			messages = append(messages, chatMessage(role, i == 0, text, at))
		}
		c.sessions = append(c.sessions, inMemory(key, messages))
	}
	for _, q := range questions {
		var gold []messagePlace
		for _, group := range q.Evidence {
			for _, id := range strings.FieldsFunc(group, func(r rune) bool { return r == ';' || r == ' ' || r == ',' }) {
				if p, ok := places[id]; ok {
					gold = append(gold, p)
				}
			}
		}
		c.ask(q.Question, gold)
	}
	return c, nil
}

// sessionTime reads when a session of a chat began, in Unix milliseconds; 0 if
// it cannot be read.
func sessionTime(raw json.RawMessage) int64 {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return 0
	}
	for _, layout := range []string{"3:04 pm on 2 January, 2006", "02.01.2006, 15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UnixMilli()
		}
	}
	return 0
}

// errNoQuestions says that a set is there and has nothing to ask.
var errNoQuestions = errors.New("no question with evidence in it")
