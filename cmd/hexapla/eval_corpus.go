package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"hexapla/internal/transcript"
	"hexapla/layers"
	"hexapla/rpc/wire"
)

// corpus is what one workspace of a retrieval set holds and is asked.
type corpus struct {
	name      string
	sessions  []corpusSession // in the order in which they are recorded
	questions []corpusQuestion
	// separate says that each session is one of the server's own, and that the
	// questions are asked in a new one, as at the beginning of other work.
	separate bool
}

// corpusSession is the unit that counts as a conversation of the set: a session
// of a chat, an exchange, or a whole recorded session of an agent.
type corpusSession struct {
	name string // tells it apart; it does not reach the server
	// read gives the messages; those of kind user_query open conversations of
	// the server.
	read func() ([]transcript.Message, error)
}

// corpusQuestion is a question and where its answer is.
type corpusQuestion struct {
	text     string
	after    int            // sessions that are recorded when it is asked
	messages []messagePlace // that hold the answer; empty where the set names sessions only
	sessions []int          // that hold the answer, sorted
}

// messagePlace is a message of a corpus, by numbers from 0.
type messagePlace struct{ session, message int }

// ask adds a question whose answer is in messages, unless there are none.
func (c *corpus) ask(text string, gold []messagePlace) {
	if len(gold) == 0 {
		return
	}
	q := corpusQuestion{text: text, after: len(c.sessions)}
	for _, p := range gold {
		if !slices.Contains(q.messages, p) {
			q.messages = append(q.messages, p)
		}
		if !slices.Contains(q.sessions, p.session) {
			q.sessions = append(q.sessions, p.session)
		}
	}
	slices.Sort(q.sessions)
	c.questions = append(c.questions, q)
}

// sample keeps at most n questions, evenly spread; all if n is 0.
func (c *corpus) sample(n int) {
	if n == 0 || len(c.questions) <= n {
		return
	}
	kept := make([]corpusQuestion, 0, n)
	for i := range n {
		kept = append(kept, c.questions[i*len(c.questions)/n])
	}
	c.questions = kept
}

// inMemory is a session whose messages are there already.
func inMemory(name string, messages []transcript.Message) corpusSession {
	return corpusSession{name: name, read: func() ([]transcript.Message, error) { return messages, nil }}
}

// homePattern is the folder of a user, whose name would tell who asks.
var homePattern = regexp.MustCompile(`/(Users|home)/[^/\s"'\\]+`)

// fromTranscript is a recorded session of an agent. The client's summaries are
// left out, because what they sum up is there, and the names of users in paths
// are made the same.
func fromTranscript(name, file string) corpusSession {
	return corpusSession{name: name, read: func() ([]transcript.Message, error) {
		f, err := openTranscript(file)
		if err != nil {
			return nil, err
		}
		_, messages, _, err := transcript.ReadAll(file, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		kept := messages[:0]
		for _, m := range messages {
			if m.Compaction {
				continue
			}
			m.Text = homePattern.ReplaceAllString(m.Text, "/$1/user")
			for i := range m.Calls {
				m.Calls[i].Input = homePattern.ReplaceAllString(m.Calls[i].Input, "/$1/user")
			}
			for i := range m.Results {
				m.Results[i].Content = homePattern.ReplaceAllString(m.Results[i].Content, "/$1/user")
			}
			kept = append(kept, m)
		}
		return kept, nil
	}}
}

// chatMessage is a message of a chat between people or with a model.
func chatMessage(role layers.Role, opens bool, text string, time int64) transcript.Message {
	var m transcript.Message
	m.Role, m.Text, m.Time = role, text, time
	if role == layers.RoleUser {
		m.Kind = layers.InputUserFeedback
	}
	if opens {
		m.Role, m.Kind = layers.RoleUser, layers.InputUserQuery
	}
	return m
}

// recordedTurn is where the server put a message.
type recordedTurn struct {
	conversation string
	number       int
}

// corpusFeed records a corpus and knows where everything went.
type corpusFeed struct {
	*replayer
	corpus    *corpus
	workspace wire.Workspace
	asking    string // session in which questions are asked
	model     string
	homes     map[string]int // sessions of the corpus by conversation
	turns     map[recordedTurn]messagePlace
	fed       []fedSession
	awaited   int // of fed, when the server last had embedded all
}

// fedSession is what was recorded of a session.
type fedSession struct{ messages []transcript.Message }

// feedTo records sessions until there are n.
func (f *corpusFeed) feedTo(ctx context.Context, n int) error {
	for len(f.fed) < n {
		at := len(f.fed)
		f.progress.show("%s%s: session %d of %d", f.position, f.corpus.name, at+1, len(f.corpus.sessions))
		messages, err := f.corpus.sessions[at].read()
		if err != nil {
			return err
		}
		if err := f.session(ctx, at, messages); err != nil {
			return fmt.Errorf("%s: session %s: %w", f.corpus.name, f.corpus.sessions[at].name, err)
		}
		f.fed = append(f.fed, fedSession{messages})
	}
	return nil
}

// session records one session, a conversation a call.
func (f *corpusFeed) session(ctx context.Context, at int, messages []transcript.Message) error {
	id := f.asking
	if f.corpus.separate {
		opened, err := f.server.openSession(ctx, wire.SessionOpenParams{Workspace: f.workspace, Model: f.model, Agent: "eval"})
		if err != nil {
			return err
		}
		id = opened.Session
	}
	for from := 0; from < len(messages); {
		to := from + 1
		for to < len(messages) && messages[to].Kind != layers.InputUserQuery {
			to++
		}
		params := wire.ConversationRecordParams{Session: id, Done: true}
		opening := 0 // turns that the transcript does not have
		if messages[from].Kind != layers.InputUserQuery {
			params.Turns = append(params.Turns, wire.Turn{
				Role: string(layers.RoleUser), Kind: string(layers.InputUserQuery), Text: "[the recording begins here]",
			})
			opening = 1
		}
		for _, m := range messages[from:to] {
			params.Turns = append(params.Turns, toWire(m))
		}
		var receipt wire.ConversationRecordResult
		if err := f.server.Call(ctx, wire.MethodConversationRecord, params, &receipt); err != nil {
			return fmt.Errorf("record: %w", err)
		}
		f.homes[receipt.Conversation] = at
		for i, number := range receipt.TurnNumbers[opening:] {
			f.turns[recordedTurn{receipt.Conversation, number}] = messagePlace{at, from + i}
		}
		from = to
	}
	return nil
}
