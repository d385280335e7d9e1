package session

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"unicode"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/layers/terms"
	"hexapla/retrieval"
	"hexapla/storage"
)

// Cluster is a group of conversations that are about the same (requirement H17).
type Cluster struct {
	Label       string          // what it is about, for people: its most telling names
	Names       []string        // the same, one by one
	Topic       string          // of the conversation in its middle
	Kind        digest.Activity // of most of its members
	Members     []ClusterMember // nearest to its middle first
	First, Last int64           // Unix ms of the oldest and the newest conversation, as claimed; 0 if unknown
	Tokens      int             // of all members in full
}

// ClusterMember is a conversation in a cluster.
type ClusterMember struct {
	Conversation string
	Topic        string
	Kind         digest.Activity
	Score        float64 // nearness to the rest of the cluster, 0 to 1
	Tokens       int
	Time         int64
}

// ClusterRequest asks for the clusters of a workspace.
type ClusterRequest struct {
	Limit int // clusters; defaultClusters if 0
	AsOf  int64
}

// ClusterReply is the clusters, largest first, then newest.
type ClusterReply struct {
	Clusters      []Cluster
	Total         int // clusters of two conversations or more
	Single        int // conversations that are in none
	Conversations int // that were looked at
	Limited       bool
	Sequence      int64
}

const (
	defaultClusters = 20
	maxClusters     = 200
)

// Clusters groups the newest 2,000 conversations of the workspace by what they
// are about. It is a function of the store as of the sequence. Errors:
// ErrNotFound for an unknown sequence, an *InvalidError for a limit that is out of
// range, the context's.
func (s *Session) Clusters(ctx context.Context, req ClusterRequest) (ClusterReply, error) {
	switch {
	case req.Limit < 0 || req.Limit > maxClusters:
		return ClusterReply{}, &InvalidError{Path: "limit", Message: "out of range", Limit: maxClusters}
	case req.Limit == 0:
		req.Limit = defaultClusters
	}
	var reply ClusterReply
	err := s.Workspace.view(req.AsOf, func(v storage.View) (err error) {
		reply, err = s.Workspace.clustersAt(ctx, v)
		return err
	})
	reply.Clusters = reply.Clusters[:min(len(reply.Clusters), req.Limit)]
	return reply, err
}

// clusterCache keeps the clusters of the newest sequence that was asked for, and
// what the conversations are about. The zero value is ready.
type clusterCache struct {
	mu       sync.Mutex // held while clusters are made: they are made once
	known    bool
	reply    ClusterReply
	subjects map[string]subjectAt // by conversation
}

// subjectAt is what a conversation is about as of a number of turns and a
// version of its trio.
type subjectAt struct {
	trio    int64
	turns   int
	subject retrieval.Subject
	member  ClusterMember
}

func (ws *Workspace) clustersAt(ctx context.Context, v storage.View) (ClusterReply, error) {
	c := &ws.clusters
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known && c.reply.Sequence == v.Seq() {
		return c.reply, nil
	}
	n := v.ListLen(listConversations)
	entries, err := v.List(listConversations, max(0, n-retrieval.MaxSubjects), n)
	if err != nil {
		return ClusterReply{}, err
	}
	subjects := make([]retrieval.Subject, 0, len(entries))
	members := make([]ClusterMember, 0, len(entries))
	next := make(map[string]subjectAt, len(entries))
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return ClusterReply{}, err
		}
		s, err := ws.subjectOf(v, entry.ID, c.subjects[entry.ID])
		if err != nil {
			return ClusterReply{}, err
		}
		next[entry.ID] = s
		subjects, members = append(subjects, s.subject), append(members, s.member)
	}
	groups, err := retrieval.Group(ctx, subjects)
	if err != nil {
		return ClusterReply{}, err
	}
	reply := ClusterReply{Sequence: v.Seq(), Conversations: len(entries), Limited: n > len(entries), Clusters: []Cluster{}}
	for _, group := range groups {
		if len(group.Members) < 2 {
			reply.Single++
			continue
		}
		reply.Clusters = append(reply.Clusters, clusterOf(group, members))
	}
	reply.Total = len(reply.Clusters)
	c.known, c.reply, c.subjects = true, reply, next
	return reply, nil
}

// clusterOf describes a group.
func clusterOf(group retrieval.Cluster, members []ClusterMember) Cluster {
	c := Cluster{Names: group.Names}
	counts := map[digest.Activity]int{}
	for _, m := range group.Members {
		member := members[m.Index]
		member.Score = m.Score
		c.Members = append(c.Members, member)
		c.Tokens += member.Tokens
		counts[member.Kind]++
		if member.Time > 0 {
			c.Last = max(c.Last, member.Time)
			if c.First == 0 || member.Time < c.First {
				c.First = member.Time
			}
		}
	}
	c.Topic = c.Members[0].Topic
	for _, kind := range digest.Activities() {
		if counts[kind] > counts[c.Kind] {
			c.Kind = kind
		}
	}
	c.Label = strings.Join(group.Names[:min(len(group.Names), 3)], ", ")
	if c.Label == "" {
		c.Label = c.Topic
	}
	return c
}

// subjectOf tells what a conversation is about, unless what is known of it still
// holds.
func (ws *Workspace) subjectOf(v storage.View, id string, known subjectAt) (subjectAt, error) {
	trio, seq, ok, err := latest[trioRecord](v, kindTrio, id)
	if err != nil {
		return subjectAt{}, err
	}
	count := v.ListLen(listOfTurns(id))
	if known.subject.ID == id && known.trio == seq && known.turns == count {
		return known, nil
	}
	if !ok {
		if trio, err = ws.ruleTrio(v, id); err != nil {
			return subjectAt{}, err
		}
	}
	record, _, _, err := latest[conversationRecord](v, kindConversation, id)
	if err != nil {
		return subjectAt{}, err
	}
	if trio.Activity == "" {
		turns, _, err := turnsOf(v, id, maxTurnNumber)
		if err != nil {
			return subjectAt{}, err
		}
		trio.Activity = digest.ActivityOf(layers.Conversation{ID: id, Outcome: trio.Header.Outcome, Turns: turns}, ws.standard())
	}
	first, _, _, err := latest[turnRecord](v, kindTurn, turnID(id, 1))
	if err != nil {
		return subjectAt{}, err
	}
	query := asText(first.Text[:min(len(first.Text), maxSubjectQuery)])
	return subjectAt{
		trio: seq, turns: count,
		member: ClusterMember{
			Conversation: id, Topic: trio.Header.Topic, Kind: trio.Activity, Tokens: trio.Header.TokenCount, Time: trio.Header.Timestamp,
		},
		subject: retrieval.Subject{ID: id, Thread: record.Session, Names: subjectNames(trio, query)},
	}, nil
}

// maxSubjectQuery is how many bytes of a query tell what a conversation is about.
const maxSubjectQuery = 800

// Weights of what a conversation is about.
const (
	weightEntity = 3 // key entity of the header
	weightTopic  = 2 // word of the topic
	weightWord   = 1 // word of the query or the summary
)

// subjectNames are the words and entities that tell what a conversation is about.
func subjectNames(trio trioRecord, query string) []retrieval.Name {
	index := map[string]int{}
	var names []retrieval.Name
	add := func(key, show string, weight int, label bool) {
		if i, ok := index[key]; ok {
			names[i].Weight = max(names[i].Weight, weight)
			names[i].Label = names[i].Label || label
			return
		}
		index[key] = len(names)
		names = append(names, retrieval.Name{Key: key, Show: show, Weight: weight, Label: label})
	}
	for _, entity := range trio.Header.KeyEntities {
		name := tail(entity, 1)
		add("name:"+strings.ToLower(name), name, weightEntity, structured(name))
	}
	words := func(text string, weight int) {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
		}) {
			found := terms.Analyze(word)
			if len(found) != 1 || len(word) < 3 {
				continue // a compound is an entity, or no word
			}
			word = strings.ToLower(word)
			add(found[0], word, weight, !plainWord(word))
		}
	}
	words(trio.Header.Topic, weightTopic)
	words(trio.Header.Summary, weightTopic)
	words(query, weightWord)
	words(trio.Summary.Content, weightWord)
	slices.SortFunc(names, func(a, b retrieval.Name) int { return cmp.Compare(a.Key, b.Key) })
	return names
}

// structured tells that a name is no common word: it has an inner capital, a
// digit or a mark in it, as file names and most identifiers have.
func structured(name string) bool {
	for i, r := range name {
		if i > 0 && ('A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-", r)) {
			return true
		}
	}
	return false
}

// plainWord tells words of any work on code, which say nothing in a label.
func plainWord(word string) bool {
	switch word {
	case "add", "added", "adding", "all", "answer", "asked", "branch", "change", "changed", "changes", "check", "claude", "code", "command", "commit", "commits", "committed", "continue", "create", "created",
		"done", "edit", "edited", "edits", "error", "errors", "file", "files", "find", "first", "fix", "fixed", "fixes", "found", "function", "implement", "implemented", "issue", "issues", "line", "lines",
		"look", "need", "needs", "new", "now", "one", "pass", "passed", "passes", "failed", "failing", "plan", "please", "problem", "push", "read", "remove", "removed", "result", "run", "running", "see", "show", "still",
		"summary", "task", "test", "tests", "the", "two", "update", "updated", "use", "used", "user", "uses", "using", "want", "work", "working", "works", "write", "wrote", "think", "should", "sure", "way", "thing", "things", "implementation", "following", "existing", "instead", "name", "request", "interrupted", "per", "since", "question", "clearly", "level", "full":
		return true
	}
	return false
}
