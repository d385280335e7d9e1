package main

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// startedSession is a recorded session of an agent and when it began.
type startedSession struct {
	id, file string
	start    time.Time
}

// workspaceCorpus makes a corpus of recorded sessions of one workspace, in the
// order in which they began.
func workspaceCorpus(name string, sessions []startedSession) *corpus {
	slices.SortFunc(sessions, func(a, b startedSession) int {
		return cmp.Or(a.start.Compare(b.start), cmp.Compare(a.id, b.id))
	})
	c := &corpus{name: name, separate: true}
	for _, s := range sessions {
		c.sessions = append(c.sessions, fromTranscript(s.id, s.file))
	}
	return c
}

// askSessions adds a question that was the first prompt of a session: what
// began before that one is there when it is asked.
func (c *corpus) askSessions(text, asked string, relevant []string) error {
	q := corpusQuestion{text: text}
	at := func(id string) int {
		return slices.IndexFunc(c.sessions, func(s corpusSession) bool { return s.name == id })
	}
	if q.after = at(asked); q.after < 0 {
		return fmt.Errorf("there is no session %s", asked)
	}
	for _, id := range relevant {
		// A session that began later, by another clock, cannot be found.
		if n := at(id); n >= 0 && n < q.after {
			q.sessions = append(q.sessions, n)
		}
	}
	if len(q.sessions) > 0 {
		slices.Sort(q.sessions)
		c.questions = append(c.questions, q)
	}
	return nil
}

// readSharedFiles reads the set in which earlier sessions are relevant that
// changed the same files.
func readSharedFiles(data string) (*corpus, error) {
	folder := filepath.Join(data, "claude-code")
	var set struct {
		Queries []struct {
			Query    string   `json:"query"`
			AskedIn  string   `json:"asked_in"`
			Relevant []string `json:"relevant"`
		} `json:"queries"`
	}
	if err := readJSON(filepath.Join(folder, "retrieval.json"), &set); err != nil {
		return nil, err
	}
	var index []struct {
		File    string    `json:"file"`
		Created time.Time `json:"created_at"`
		Format  string    `json:"format"`
	}
	if err := readJSON(filepath.Join(folder, "index.json"), &index); err != nil {
		return nil, err
	}
	var sessions []startedSession
	for _, s := range index {
		if s.Format == "claude-code-jsonl" {
			sessions = append(sessions, startedSession{s.File, filepath.Join(folder, s.File), s.Created})
		}
	}
	c := workspaceCorpus(setClaudeCode, sessions)
	for _, q := range set.Queries {
		if err := c.askSessions(q.Query, q.AskedIn, q.Relevant); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// branchGrade is the grade of a session on the same branch or ticket, which
// people chose; lower grades are guesses.
const branchGrade = 2

// readBranches reads the set in which earlier sessions on the same branch are
// relevant.
func readBranches(data string) (*corpus, error) {
	folder := filepath.Join(data, "claude-code-bulk")
	var set struct {
		Queries []struct {
			Session  string `json:"query_session"`
			Query    string `json:"query"`
			Relevant []struct {
				ID    string `json:"id"`
				Grade int    `json:"grade"`
			} `json:"relevant"`
		} `json:"queries"`
	}
	if err := readJSON(filepath.Join(folder, "branch_gold.json"), &set); err != nil {
		return nil, err
	}
	var manifest []struct {
		ID     string    `json:"id"`
		File   string    `json:"file"`
		InCore bool      `json:"in_core"`
		Start  time.Time `json:"t0"`
	}
	if err := readJSON(filepath.Join(folder, "manifest.json"), &manifest); err != nil {
		return nil, err
	}
	var sessions []startedSession
	for _, s := range manifest {
		file := filepath.Join(folder, filepath.FromSlash(s.File))
		if s.InCore {
			file = filepath.Join(data, "claude-code", path.Base(s.File))
		}
		sessions = append(sessions, startedSession{s.ID, file, s.Start})
	}
	c := workspaceCorpus(setBranches, sessions)
	for _, q := range set.Queries {
		var relevant []string
		for _, r := range q.Relevant {
			if r.Grade >= branchGrade {
				relevant = append(relevant, r.ID)
			}
		}
		if err := c.askSessions(q.Query, q.Session, relevant); err != nil {
			return nil, err
		}
	}
	return c, nil
}
