//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"hexapla/rpc/wire"
)

// spoken is an operation on a conversation: adding a turn, or reading all.
type spoken struct {
	conversation int
	add          string // "" for reading
}

// heard is its result: the number of the turn that was added, or the texts.
type heard struct {
	number int
	texts  string // each behind a space
}

// conversationModel says what a conversation is to those who share it: a list
// that grows at its end, which everybody sees as it is at one moment between
// their question and its answer.
var conversationModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		for _, op := range history {
			at := op.Input.(spoken).conversation
			for len(parts) <= at {
				parts = append(parts, nil)
			}
			parts[at] = append(parts[at], op)
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		texts, in, out := state.(string), input.(spoken), output.(heard)
		if in.add == "" {
			return out.texts == texts, texts
		}
		return out.number == strings.Count(texts, " ")+1, texts + " " + in.add
	},
	DescribeOperation: func(input, output any) string {
		in, out := input.(spoken), output.(heard)
		if in.add == "" {
			return fmt.Sprintf("c%d read%s", in.conversation, out.texts)
		}
		return fmt.Sprintf("c%d add %s as %d", in.conversation, in.add, out.number)
	},
}

// TestC7_Linearizable: clients add turns to shared conversations and read them,
// through forwarders of their own, while the daemon is killed again and again.
// There is an order of all that they did that explains every answer and in which
// nothing comes before what was answered before it began.
func TestC7_Linearizable(t *testing.T) {
	t.Parallel()
	clients, workspaces := rounds(t, "HEXAPLA_LINEAR_CLIENTS", 16), rounds(t, "HEXAPLA_LINEAR_WORKSPACES", 2)
	each, kills := rounds(t, "HEXAPLA_LINEAR_EACH", 8), rounds(t, "HEXAPLA_LINEAR_KILLS", 2)
	p := newPost(t)
	// One after another in each workspace, so that none becomes so long that reading it is most of the work.
	talks := rounds(t, "HEXAPLA_LINEAR_CONVERSATIONS", 1)
	windows := make([]*window, clients)
	conversations := make([]string, workspaces*talks)
	for i := range windows {
		k := i % workspaces
		windows[i] = p.start()
		windows[i].initialize()
		for talk := range talks {
			windows[i].openSession(fmt.Sprintf("file:///projects/w%d", k), task(talk))
			if i >= workspaces {
				continue
			}
			var begun wire.ConversationRecordResult
			if err := windows[i].Call(windows[i].ctx(), wire.MethodConversationRecord, wire.ConversationRecordParams{
				Session: task(talk), Turns: []wire.Turn{{Role: "user", Text: "Begin."}},
			}, &begun); err != nil {
				t.Fatal(err)
			}
			conversations[k*talks+talk] = begun.Conversation
		}
	}
	start := time.Now()
	histories := make([][]porcupine.Operation, clients)
	var answered atomic.Int64
	progress := make(chan int64, clients*each)
	var done sync.WaitGroup
	for i, w := range windows {
		done.Go(func() {
			for n := range each {
				op := porcupine.Operation{ClientId: i, Call: int64(time.Since(start))}
				talk := n * talks / each
				in := spoken{conversation: i%workspaces*talks + talk}
				var out heard
				var err error
				if n%4 == 3 {
					out.texts, err = w.items(task(talk), conversations[in.conversation])
				} else {
					in.add = item(i, n)
					out.number, err = w.add(task(talk), conversations[in.conversation], in.add)
				}
				op.Input, op.Output, op.Return = in, out, int64(time.Since(start))
				if err != nil {
					t.Errorf("%+v: %v", in, err)
					op.Return = 1 << 62 // it may happen at any time from now on
				}
				histories[i] = append(histories[i], op)
				progress <- answered.Add(1)
			}
		})
	}
	killed := 0
	for k := range kills {
		until := int64(clients * each * (k + 1) / (kills + 1))
		for n := range progress {
			if n >= until {
				break
			}
		}
		for _, pid := range p.daemons() {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			killed++
		}
	}
	done.Wait()
	if killed < kills {
		t.Errorf("%d kills, not %d", killed, kills)
	}
	history := slices.Concat(histories...)
	result, info := porcupine.CheckOperationsVerbose(conversationModel, history, 10*time.Minute)
	if result != porcupine.Ok {
		t.Errorf("%s: no order explains the answers", result)
		if path := t.ArtifactDir() + "/history.html"; porcupine.VisualizePath(conversationModel, info, path) == nil {
			t.Log(path)
		}
	}
	for _, w := range windows {
		w.leave()
	}
	t.Logf("%d operations, %d kills", len(history), killed)
}

// task is the session of a conversation, of which a session has one at a time.
func task(talk int) string { return fmt.Sprint("task", talk) }

// add records one turn and returns its place among those behind the first.
func (w *window) add(session, conversation, text string) (int, error) {
	var r wire.ConversationRecordResult
	err := w.Call(w.ctx(), wire.MethodConversationRecord, wire.ConversationRecordParams{
		Session: session, Conversation: conversation, Turns: []wire.Turn{{Role: "assistant", Text: text}},
	}, &r)
	if err != nil || len(r.TurnNumbers) != 1 {
		return 0, fmt.Errorf("turns %v: %w", r.TurnNumbers, err)
	}
	return r.TurnNumbers[0] - 1, nil
}

// items reads the texts behind the first turn, each behind a space.
func (w *window) items(session, conversation string) (string, error) {
	var r wire.ConversationGetResult
	if err := w.Call(w.ctx(), wire.MethodConversationGet, wire.ConversationGetParams{Session: session, Conversation: conversation, Detail: "full"}, &r); err != nil {
		return "", err
	}
	var texts strings.Builder
	for _, turn := range r.Turns[1:] {
		texts.WriteString(" " + turn.Text)
	}
	return texts.String(), nil
}
