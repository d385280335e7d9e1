package session

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"hexapla/retrieval"
	"hexapla/storage"
)

// Learned is what is known of the use of a conversation, since the last reset.
type Learned struct {
	Conversation string
	Asked        int // context requests that named it
	ReAsked      int // of what had been given already
	Served       int // times that it was found for the query of a context request
	Used         int // conversations in which the model named it in contextUsed
	Unused       int // conversations in which it was served and not named there
	Returned     int // queries of the user that came back to it
	Visits       int // Asked, ReAsked, Used and Returned
	// Usefulness is (good + 1) / (good + bad + 2), rounded down to six decimals, of
	// occurrences that count h/(h+n), h being 64, n conversations later.
	Usefulness float64
	Last       int64 // sequence of the newest lesson
}

// learning reads what was learned, as of a view.
type learning struct {
	ws     *Workspace
	view   storage.View
	opened int
	reset  int64 // sequence of the last reset of the workspace
	any    bool  // there are lessons since
	known  map[string]Learned
	err    error // the first one met by a method that returns none
}

func (ws *Workspace) learning(v storage.View) (*learning, error) {
	l := &learning{ws: ws, view: v, opened: v.ListLen(listConversations), known: map[string]Learned{}}
	n := v.ListLen(listLearned)
	if n == 0 {
		return l, v.Err()
	}
	var err error
	if _, l.reset, _, err = latest[resetRecord](v, kindLearningReset, wholeWorkspace); err != nil {
		return nil, err
	}
	newest, err := v.List(listLearned, n-1, n)
	if err != nil {
		return nil, err
	}
	l.any = len(newest) > 0 && newest[0].Seq > l.reset
	return l, nil
}

// lessonAt is a lesson about a known conversation, in the order of time.
type lessonAt struct {
	seq    int64
	opened int
	what   string
}

type lessonsKey struct {
	conversation string
	records      int
}

// lessons returns the newest lessons of a conversation, oldest first, whether
// they were reset or not.
func (l *learning) lessons(conversation string) ([]lessonAt, error) {
	list := listOfLearned(conversation)
	n := l.view.ListLen(list)
	if n == 0 {
		return nil, l.view.Err()
	}
	key := lessonsKey{conversation, n} // a list only grows
	if known, ok := l.ws.lessons.get(key); ok {
		return known, nil
	}
	entries, err := l.view.List(list, max(0, n-maxLessons), n)
	if err != nil {
		return nil, err
	}
	var out []lessonAt
	for _, entry := range entries {
		record, err := l.view.Get(entry.Seq)
		if err != nil {
			return nil, err
		}
		body, err := decodeLearned(record)
		if err != nil {
			return nil, err
		}
		for _, one := range body.Lessons {
			if one.Conversation == conversation {
				out = append(out, lessonAt{entry.Seq, body.Opened, one.What})
			}
		}
	}
	l.ws.lessons.put(key, out)
	return out, nil
}

// of returns what was learned of a conversation.
func (l *learning) of(conversation string) (Learned, error) {
	if known, ok := l.known[conversation]; ok {
		return known, nil
	}
	out := Learned{Conversation: conversation}
	all, err := l.lessons(conversation)
	if err != nil {
		return out, err
	}
	reset := l.reset
	if len(all) > 0 {
		_, own, _, err := latest[resetRecord](l.view, kindLearningReset, conversation)
		if err != nil {
			return out, err
		}
		reset = max(reset, own)
	}
	good, bad := int64(lessonPrior), int64(lessonPrior)
	for _, one := range all {
		if one.seq <= reset {
			continue
		}
		switch one.what {
		case lessonAsked:
			out.Asked++
		case lessonReAsked:
			out.ReAsked++
		case lessonServed:
			out.Served++
		case lessonUsed:
			out.Used++
		case lessonUnused:
			out.Unused++
		case lessonReturned:
			out.Returned++
		}
		out.Last = one.seq
		g, b := worth(one.what)
		age := int64(max(l.opened-one.opened, 0))
		good += g * lessonHalf / (lessonHalf + age)
		bad += b * lessonHalf / (lessonHalf + age)
	}
	out.Visits = out.Asked + out.ReAsked + out.Used + out.Returned
	out.Usefulness = float64(good*1_000_000/(good+bad)) / 1_000_000
	l.known[conversation] = out
	return out, nil
}

// visits and usefulness are for a search, which cannot fail for their sake.
func (l *learning) visits(conversation string) int { return l.quietly(conversation).Visits }

func (l *learning) usefulness(conversation string) float64 { return l.quietly(conversation).Usefulness }

func (l *learning) quietly(conversation string) Learned {
	out, err := l.of(conversation)
	if err != nil && l.err == nil {
		l.err = err
	}
	return out
}

// search ranks what a view has, with what was learned up to it.
func (ws *Workspace) search(ctx context.Context, v storage.View, q retrieval.Query) (retrieval.Result, error) {
	ws.opts.Warm()
	gone, err := cutOff(v)
	if err != nil {
		return retrieval.Result{}, err
	}
	if len(gone) > 0 {
		others := q.Exclude
		q.Exclude = func(id string) bool { return gone[id] != 0 || others != nil && others(id) }
	}
	l, err := ws.learning(v)
	if err != nil {
		return retrieval.Result{}, err
	}
	if l.any {
		q.Visits, q.Usefulness = l.visits, l.usefulness
	}
	found, err := ws.engine.Search(ctx, v, q)
	if err == nil {
		err = l.err
	}
	return found, err
}

// LearnedRequest asks what was learned.
type LearnedRequest struct {
	Conversation string // the only one to tell of, if not empty
	Limit        int    // conversations; defaultLearned if 0
	AsOf         int64
}

// LearnedReply is what was learned.
type LearnedReply struct {
	Conversations []Learned // most useful first, then newest
	Total         int       // conversations of which something was learned lately
	Reset         int64     // sequence of the last reset of the workspace; 0 if there was none
	Sequence      int64
}

const (
	defaultLearned = 20
	maxLearned     = 200
	// recentLearned is how many of the newest lessons' records are looked at to
	// find the conversations of which something was learned.
	recentLearned = 2000
)

// Learned tells what was learned of the workspace's conversations, or of one.
// Errors: ErrNotFound for an unknown conversation or sequence, an *InvalidError
// for a limit that is out of range.
func (s *Session) Learned(req LearnedRequest) (LearnedReply, error) {
	reply := LearnedReply{Conversations: []Learned{}}
	switch {
	case req.Limit < 0 || req.Limit > maxLearned:
		return reply, &InvalidError{Path: "limit", Message: "out of range", Limit: maxLearned}
	case req.Limit == 0:
		req.Limit = defaultLearned
	}
	err := s.Workspace.view(req.AsOf, func(v storage.View) error {
		reply.Sequence = v.Seq()
		l, err := s.Workspace.learning(v)
		if err != nil {
			return err
		}
		reply.Reset = l.reset
		ids := []string{req.Conversation}
		if req.Conversation == "" {
			ids, err = l.recent()
		} else if _, ok, e := v.Latest(kindConversation, req.Conversation); e != nil {
			return e
		} else if !ok {
			return notFound("conversation", req.Conversation)
		}
		if err != nil {
			return err
		}
		for _, id := range ids {
			one, err := l.of(id)
			if err != nil {
				return err
			}
			if one.Last > 0 || req.Conversation != "" {
				reply.Conversations = append(reply.Conversations, one)
			}
		}
		slices.SortFunc(reply.Conversations, func(a, b Learned) int {
			return cmp.Or(cmp.Compare(b.Usefulness, a.Usefulness), cmp.Compare(b.Last, a.Last), cmp.Compare(a.Conversation, b.Conversation))
		})
		reply.Total = len(reply.Conversations)
		reply.Conversations = reply.Conversations[:min(reply.Total, req.Limit)]
		return nil
	})
	return reply, err
}

// recent returns the conversations of the newest lessons, newest first.
func (l *learning) recent() ([]string, error) {
	n := l.view.ListLen(listLearned)
	entries, err := l.view.List(listLearned, max(0, n-recentLearned), n)
	if err != nil {
		return nil, err
	}
	var ids []string
	seen := map[string]bool{}
	for i := len(entries) - 1; i >= 0 && entries[i].Seq > l.reset; i-- {
		record, err := l.view.Get(entries[i].Seq)
		if err != nil {
			return nil, err
		}
		body, err := decodeLearned(record)
		if err != nil {
			return nil, err
		}
		for _, one := range body.Lessons {
			if !seen[one.Conversation] {
				seen[one.Conversation] = true
				ids = append(ids, one.Conversation)
			}
		}
	}
	return ids, nil
}

// ForgetRequest takes back what was learned.
type ForgetRequest struct {
	Conversation string `json:"conversation,omitempty"` // the only one, if not empty
	Key          string `json:"-"`
}

// ForgetReply tells what was taken back.
type ForgetReply struct {
	Forgotten int   // writes that had taught something and no longer count
	Sequence  int64 `json:"-"`
}

// ForgetLearned writes a mark from which on what was learned before counts no
// more, of one conversation or of all. Packs of the past are as they were. Where
// nothing was learned, nothing is written. Errors: ErrNotFound.
func (s *Session) ForgetLearned(ctx context.Context, req ForgetRequest) (ForgetReply, error) {
	reply, receipt, err := write(ctx, s.Workspace, "learning/reset", s.ID, req.Key, req, func(tx *storage.Tx) (ForgetReply, error) {
		v := tx.View()
		id, list := wholeWorkspace, listLearned
		if req.Conversation != "" {
			id, list = req.Conversation, listOfLearned(req.Conversation)
			if _, ok, err := v.Latest(kindConversation, id); err != nil {
				return ForgetReply{}, err
			} else if !ok {
				return ForgetReply{}, notFound("conversation", id)
			}
		}
		var since int64
		for _, of := range []string{wholeWorkspace, id} {
			_, seq, _, err := latest[resetRecord](v, kindLearningReset, of)
			if err != nil {
				return ForgetReply{}, err
			}
			since = max(since, seq)
		}
		n := v.ListLen(list)
		var failed error
		before := sort.Search(n, func(i int) bool { // places are in the order of sequences
			entries, err := v.List(list, i, i+1)
			if err != nil {
				failed = err
			}
			return len(entries) > 0 && entries[0].Seq > since
		})
		if failed == nil && n > before {
			tx.Put(storage.Draft{Kind: kindLearningReset, ID: id, Body: encode(resetRecord{})})
		}
		return ForgetReply{Forgotten: n - before}, failed
	})
	reply.Sequence = receipt.Seq
	return reply, err
}
