package wire

// LearningGetParams asks what was learned of conversations.
type LearningGetParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// The only conversation to tell of; all of which something was learned lately
	// when absent.
	Conversation string `json:"conversation,omitempty"`
	// Most conversations to return; 20 when absent, 200 at most.
	Limit int `json:"limit,omitempty"`
	// As of this sequence number; the newest when absent.
	AsOf int64 `json:"asOf,omitempty"`
}

// LearnedConversation is what is known of the use of a conversation. The newest
// 64 writes that told of it count, back to the last reset.
type LearnedConversation struct {
	// The conversation.
	Conversation string `json:"conversation"`
	// Context requests that named it or one of its turns, whether they were served
	// or not.
	Asked int `json:"asked"`
	// The same, where the model had been given it already.
	ReAsked int `json:"reAsked"`
	// Times that it was found for the query of a context request.
	Served int `json:"served"`
	// Conversations in which the model named it in contextUsed.
	Used int `json:"used"`
	// Conversations in which it was served and the model's first contextUsed does
	// not name it.
	Unused int `json:"unused"`
	// Queries of the user that opened a conversation and name it, or that have two
	// files or functions or an error in common with what was said or called in it;
	// three conversations at most that a query does not name.
	Returned int `json:"returned"`
	// Asked, reAsked, used and returned: the part visits of a score is
	// visits/(visits+2).
	Visits int `json:"visits"`
	// (good + 1) / (good + bad + 2), six decimals. used and reAsked are good by 1,
	// asked and returned by a half, unused is bad by 1; n conversations later an
	// occurrence counts 64/(64+n) of that.
	Usefulness float64 `json:"usefulness"`
	// Sequence number of the newest write that told of it; 0 for none.
	Last int64 `json:"last"`
}

// LearningGetResult is what was learned.
type LearningGetResult struct {
	// Most useful first, then those of which something was learned last.
	Conversations []LearnedConversation `json:"conversations"`
	// How many there are without the limit; of the newest 2,000 writes that taught
	// something.
	Total int `json:"total"`
	// Sequence number of the last reset of the whole workspace.
	Reset int64 `json:"reset,omitempty"`
	// The sequence number that was read.
	Sequence int64 `json:"sequence"`
}

// LearningResetParams takes back what was learned.
type LearningResetParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// The only conversation to forget about; all when absent.
	Conversation string `json:"conversation,omitempty"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// LearningResetResult tells what was taken back. Packs of the past stay what they
// were.
type LearningResetResult struct {
	// Writes that had taught something and count no more.
	Forgotten int `json:"forgotten"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
}

// ClusterListParams asks for groups of conversations.
type ClusterListParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// Most clusters to return; 20 when absent, 200 at most.
	Limit int `json:"limit,omitempty"`
	// As of this sequence number; the newest when absent.
	AsOf int64 `json:"asOf,omitempty"`
}

// ClusterMember is a conversation in a cluster.
type ClusterMember struct {
	// The conversation.
	Conversation string `json:"conversation"`
	// Its topic.
	Topic string `json:"topic"`
	// Its kind of work: "bugInvestigation", "refactoring", "featureDevelopment" or
	// "learning".
	Kind string `json:"kind" enum:"bugInvestigation,refactoring,featureDevelopment,learning"`
	// How near it is to the rest of the cluster, 0 to 1, against the nearest.
	Score float64 `json:"score"`
	// Of the conversation in full, by o200k_base.
	Tokens int `json:"tokens"`
}

// Cluster is a group of conversations that are about the same.
type Cluster struct {
	// The names that tell it from the others, three at most: files, functions and
	// words that a third of the members have.
	Label string `json:"label"`
	// Up to five of them.
	Names []string `json:"names"`
	// The topic of the conversation in its middle.
	Topic string `json:"topic"`
	// What most members are: "bugInvestigation", "refactoring",
	// "featureDevelopment" or "learning".
	Kind string `json:"kind" enum:"bugInvestigation,refactoring,featureDevelopment,learning"`
	// Its conversations, those in the middle first.
	Members []ClusterMember `json:"members"`
	// When the oldest of them began, if the client told.
	First string `json:"first,omitempty"`
	// When the newest of them began.
	Last string `json:"last,omitempty"`
	// Of all members in full, by o200k_base.
	Tokens int `json:"tokens"`
}

// ClusterListResult is the clusters.
type ClusterListResult struct {
	// Largest first, then the one with the newest conversation.
	Clusters []Cluster `json:"clusters"`
	// Clusters there are without the limit; each has two conversations or more.
	Total int `json:"total"`
	// Conversations that are in none.
	Single int `json:"single"`
	// Conversations that were looked at: the newest 2,000.
	Conversations int `json:"conversations"`
	// Whether there are more.
	Limited bool `json:"limited"`
	// The sequence number that was read.
	Sequence int64 `json:"sequence"`
}
