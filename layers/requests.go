package layers

import "strconv"

// Priorities of a retrieve request (requirement H6).
const (
	PrioritySpecific = "specific" // the ids that are given
	PriorityRecent   = "recent"
	PriorityRelevant = "relevant" // to a query
)

// MaxRetrieve is the most conversations that one retrieve request by recency
// or relevance returns.
const MaxRetrieve = 50

// Retrieve asks for conversations.
type Retrieve struct {
	IDs      []string `json:"ids"`
	Format   Detail   `json:"format"`
	Priority string   `json:"priority"` // PrioritySpecific, PriorityRecent or PriorityRelevant
	Query    string   `json:"query"`
	Limit    int      `json:"limit"`
	Cursor   string   `json:"cursor,omitempty"` // where to go on with the passages of one conversation
}

// ContextRequests is what a model asks for in an answer (requirement H9).
type ContextRequests struct {
	Retrieve []Retrieve `json:"retrieve"`
	Topics   []string   `json:"topics"`
	Archive  []string   `json:"archive"`
}

// Empty tells that nothing is asked for.
func (r *ContextRequests) Empty() bool {
	return len(r.Retrieve) == 0 && len(r.Topics) == 0 && len(r.Archive) == 0
}

// Correct gives what is out of its range its default, so that one slip of a
// model does not cost a request, and says what it changed: the member and why.
func (r *Retrieve) Correct() []string {
	var out []string
	switch r.Format {
	case "", DetailHeader, DetailSummary, DetailFull, DetailMixed:
	default:
		r.Format = ""
		out = append(out, `format: must be "header", "summary", "full" or "mixed"; "mixed" is served`)
	}
	switch r.Priority {
	case "", PrioritySpecific, PriorityRecent, PriorityRelevant:
	default:
		r.Priority = ""
		out = append(out, `priority: must be "specific", "recent" or "relevant"; it is taken as absent`)
	}
	if r.Limit < 0 || r.Limit > MaxRetrieve {
		r.Limit = max(0, min(r.Limit, MaxRetrieve))
		out = append(out, "limit: must be 0 to "+strconv.Itoa(MaxRetrieve))
	}
	return out
}
