package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"hexapla/layers"
	"hexapla/session"
)

// act is one thing that is done in a story.
type act func(t checker, service *session.Service, s *session.Session) error

// story draws things to do, with the value in places.
func story(r *rapid.T) []act {
	value := hidden()
	where := func() string {
		return rapid.SampledFrom([]string{
			"%s", "the code is %s.", "no such thing", "It goes on for a good while before " + strings.Repeat("anything of note ", 12) + "%s comes.",
			"fixed internal/%s/run.go, then pkg/%s.go", strings.Repeat("line of text\n", 30) + "FAIL %s_test.go:12: %s", "pick %s, not %s or Marmalade",
		}).Draw(r, "text")
	}
	say := func() string { return strings.ReplaceAll(where(), "%s", value) }
	said := func() *layers.Housekeeping {
		h := &layers.Housekeeping{}
		switch rapid.IntRange(0, 3).Draw(r, "said") {
		case 0:
			h.LLM.ResponseHeader.Topic, h.LLM.ContextSummary = say(), say()
		case 1:
			h.LLM.CurrentContext = &layers.CurrentContext{OverallNarrative: say(), KeyAchievements: []string{say()}}
		case 2:
			h.LLM.KeyDecisions, h.LLM.CodeChanges = []string{say()}, []layers.CodeChange{{Files: []string{"pkg/a.go"}, ChangeType: "modify", Summary: say()}}
		default:
			return nil
		}
		return h
	}
	input := func() string { b, _ := json.Marshal(map[string]string{"command": say()}); return string(b) }
	turns := func() []layers.Turn {
		list := []layers.Turn{{Role: layers.RoleUser, Text: say()}}
		if rapid.Bool().Draw(r, "calls") {
			file, _ := json.Marshal(map[string]string{"file_path": "src/" + strings.Fields(say())[0] + ".go", "old_string": "a", "new_string": say()})
			list = append(list,
				layers.Turn{Role: layers.RoleAssistant, Text: say(), Calls: []layers.ToolCall{{ID: "t1", Name: "Bash", Input: input()}, {ID: "t2", Name: "Edit", Input: string(file)}}},
				layers.Turn{Role: layers.RoleTool, Results: []layers.ToolResult{{CallID: "t1", Content: say()}, {CallID: "t2", Content: "ok"}}})
		}
		return append(list, layers.Turn{Role: layers.RoleAssistant, Text: say()})
	}
	var acts []act
	conversations := 0
	opens := func() {
		list, done, h := turns(), rapid.Bool().Draw(r, "done"), said()
		conversations++
		acts = append(acts, func(t checker, service *session.Service, s *session.Session) error {
			var contents []string
			for _, turn := range list {
				for _, result := range turn.Results {
					contents = append(contents, result.Content)
				}
			}
			// What the door does to the wire's parameters it does to these.
			req := atDoor(t, service, clone(session.RecordRequest{Turns: list, Contents: contents, Done: done, Housekeeping: h}))
			k := 0
			for i := range req.Turns {
				for j := range req.Turns[i].Results {
					req.Turns[i].Results[j].Content = req.Contents[k]
					k++
				}
			}
			_, err := s.Record(t.Context(), req)
			return err
		})
	}
	opens()
	for range rapid.IntRange(2, 12).Draw(r, "acts") {
		words, n := say(), rapid.IntRange(1, conversations).Draw(r, "of")
		switch rapid.IntRange(0, 9).Draw(r, "what") {
		default:
			opens()
		case 0:
			acts = append(acts, func(t checker, service *session.Service, s *session.Session) error {
				_, err := s.AddPin(t.Context(), atDoor(t, service, words), "")
				return err
			})
		case 1:
			alias := "name-" + strings.Fields(words)[0]
			acts = append(acts, func(t checker, service *session.Service, s *session.Session) error {
				_, err := s.SetAlias(t.Context(), atDoor(t, service, alias), "c1", "")
				return ignore(err, session.ErrNotFound)
			})
		case 2:
			acts = append(acts, func(t checker, service *session.Service, s *session.Session) error {
				_, err := s.RecordTool(t.Context(), session.ToolRequest{Tool: "Bash", Content: atDoor(t, service, words)})
				return err
			})
		case 3:
			acts = append(acts, func(t checker, service *session.Service, s *session.Session) error {
				req := atDoor(t, service, struct{ Text string }{words})
				_, err := s.Edit(t.Context(), session.EditRequest{Conversation: fmt.Sprintf("c%d", n), Turn: 1, Text: &req.Text, Reason: atDoor(t, service, words)})
				return ignore(err, nil)
			})
		case 4:
			acts = append(acts, func(t checker, service *session.Service, s *session.Session) error {
				req := atDoor(t, service, session.PackRequest{Budget: layers.Budget{Total: 6000}, Task: words, Input: &session.PackInput{Kind: layers.InputUserQuery, Content: words}, System: []session.SystemPart{{Text: words}}})
				_, err := s.BuildPack(t.Context(), req)
				return err
			})
		case 5:
			h := said()
			acts = append(acts, func(t checker, service *session.Service, s *session.Session) error {
				if h == nil {
					return nil
				}
				_, err := s.ApplyHousekeeping(t.Context(), fmt.Sprintf("c%d", n), atDoor(t, service, clone(*h)), "")
				return ignore(err, nil)
			})
		}
	}
	return acts
}

// ignore is nil for what a story may well be refused.
func ignore(err, _ error) error {
	var invalid *session.InvalidError
	if errors.Is(err, session.ErrNotFound) || errors.As(err, &invalid) {
		return nil
	}
	return err
}

// clone copies what is passed through the door, which changes it in place.
func clone[T any](v T) (out T) {
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}
