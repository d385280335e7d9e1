package wire

// MemoryItem is a memory item of an agent.
type MemoryItem struct {
	// The item's id.
	ID string `json:"id"`
	// "TASK", "CODE", "ERROR", "TEST_RESULT" or "PRD_SECTION".
	Type string `json:"type" enum:"TASK,CODE,ERROR,TEST_RESULT,PRD_SECTION"`
	// "HOT", "WARM" or "COLD", as the newest save or re-tiering left it.
	Tier string `json:"tier" enum:"HOT,WARM,COLD"`
	// Its content.
	Content string `json:"content"`
	// Tokens of the content, counted with o200k_base.
	Tokens int `json:"tokens"`
	// From 0 to 1, now: type weight × exp(-age / decay) × (1 + ln(accessCount+1) / 10).
	Importance float64 `json:"importance"`
	// How often it was loaded before.
	AccessCount int `json:"accessCount"`
	// Unix milliseconds of its content.
	Created int64 `json:"created"`
	// Unix milliseconds at which it was loaded last; absent before that.
	LastAccessed int64 `json:"lastAccessed,omitempty"`
	// True after a flash save archived it, until it is loaded.
	Archived bool `json:"archived,omitempty"`
}

// MemoryDraft is a memory item to be saved.
type MemoryDraft struct {
	// The id of an item that gets another content; absent for a new one.
	ID string `json:"id,omitempty"`
	// "TASK", "CODE", "ERROR", "TEST_RESULT" or "PRD_SECTION".
	Type string `json:"type" enum:"TASK,CODE,ERROR,TEST_RESULT,PRD_SECTION"`
	// At most 64 KiB.
	Content string `json:"content"`
}

// MemorySaveParams saves and removes items of an agent.
type MemorySaveParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// The agent, at most 256 bytes; the session's when absent.
	Agent string `json:"agent,omitempty"`
	// At most 1,000; an agent has at most 10,000. All are saved or none.
	Items []MemoryDraft `json:"items,omitempty"`
	// Ids of items that are to go.
	Remove []string `json:"remove,omitempty"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// MemorySaved is the receipt of an item.
type MemorySaved struct {
	// The item's id.
	ID string `json:"id"`
	// "HOT", "WARM" or "COLD".
	Tier string `json:"tier" enum:"HOT,WARM,COLD"`
	// From 0 to 1.
	Importance float64 `json:"importance"`
	// Tokens of the content, counted with o200k_base.
	Tokens int `json:"tokens"`
}

// MemorySaveResult is the receipt of a save.
type MemorySaveResult struct {
	// The items, in the order in which they were sent.
	Items []MemorySaved `json:"items"`
	// Items that were removed.
	Removed int `json:"removed"`
	// What the agent has now.
	Memory MemoryCounts `json:"memory"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
	// What was replaced in the parameters, by family: secrets and personal data.
	Scrubbed map[string]int `json:"scrubbed,omitempty"`
}

// MemoryCounts is how many items an agent has in each tier.
type MemoryCounts struct {
	// The agent.
	Agent string `json:"agent"`
	// HOT items.
	Hot int `json:"hot"`
	// WARM items.
	Warm int `json:"warm"`
	// COLD items.
	Cold int `json:"cold"`
}

// MemoryLoadParams asks for items of an agent.
type MemoryLoadParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// The agent; the session's when absent.
	Agent string `json:"agent,omitempty"`
	// "HOT", "WARM" and "COLD"; HOT alone when absent.
	Tiers []string `json:"tiers,omitempty"`
	// These items alone, whatever their tiers.
	IDs []string `json:"ids,omitempty"`
	// At most so many, the most important ones; 0 or absent for all.
	Limit int `json:"limit,omitempty"`
	// True to look without counting it as a use, as a view of the memory does.
	Peek bool `json:"peek,omitempty"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// MemoryLoadResult is an agent's items.
type MemoryLoadResult struct {
	// The agent.
	Agent string `json:"agent"`
	// The most important first, ties in the order in which they were saved. Their
	// access counts are those before this load.
	Items []MemoryItem `json:"items"`
	// Items that the limit, or 8 MiB of contents, left out.
	More int `json:"more,omitempty"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
	// What was replaced in the parameters, by family: secrets and personal data.
	Scrubbed map[string]int `json:"scrubbed,omitempty"`
}

// MemoryRetierParams has an agent's items tiered anew.
type MemoryRetierParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// The agent; the session's when absent.
	Agent string `json:"agent,omitempty"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// MemoryMove is an item that is in another tier than before.
type MemoryMove struct {
	// The item's id.
	ID string `json:"id"`
	// "HOT", "WARM" or "COLD".
	From string `json:"from" enum:"HOT,WARM,COLD"`
	// "HOT", "WARM" or "COLD".
	To string `json:"to" enum:"HOT,WARM,COLD"`
}

// MemoryRetierResult tells what moved.
type MemoryRetierResult struct {
	// The first 1,000 items that moved, in the order in which they were saved.
	Moved []MemoryMove `json:"moved"`
	// What the agent has now.
	Memory MemoryCounts `json:"memory"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
	// What was replaced in the parameters, by family: secrets and personal data.
	Scrubbed map[string]int `json:"scrubbed,omitempty"`
}

// MemoryStatsParams asks what agents have.
type MemoryStatsParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// The agent; all agents of the workspace when absent.
	Agent string `json:"agent,omitempty"`
}

// MemoryTierStats is what an agent has in a tier.
type MemoryTierStats struct {
	// "HOT", "WARM" or "COLD".
	Tier string `json:"tier" enum:"HOT,WARM,COLD"`
	// How many items.
	Items int `json:"items"`
	// Their tokens, counted with o200k_base.
	Tokens int64 `json:"tokens"`
}

// MemoryAgentStats is what an agent has.
type MemoryAgentStats struct {
	// The agent.
	Agent string `json:"agent"`
	// All three tiers, HOT first.
	Tiers []MemoryTierStats `json:"tiers"`
	// Items of all tiers.
	Items int `json:"items"`
	// Tokens of all tiers.
	Tokens int64 `json:"tokens"`
	// Items that flash saves archived.
	Archived int `json:"archived"`
}

// MemoryStatsResult is what agents have.
type MemoryStatsResult struct {
	// In the order in which they first saved something.
	Agents []MemoryAgentStats `json:"agents"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
}

// MemoryFlashSaveParams saves what an agent holds when its context is nearly full.
type MemoryFlashSaveParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// The agent; the session's when absent.
	Agent string `json:"agent,omitempty"`
	// Items to be saved in the same write, as in memory/save.
	Items []MemoryDraft `json:"items,omitempty"`
	// What the agent's context takes now.
	Tokens int `json:"tokens,omitempty"`
	// What it may take at most. The save is due from 80 % of it on; with no limit
	// it is always due.
	Limit int `json:"limit,omitempty"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// MemoryCheckpoint is a state of an agent's memory that can be had again.
type MemoryCheckpoint struct {
	// Its id.
	ID string `json:"id"`
	// Unix milliseconds.
	Time int64 `json:"time"`
	// HOT items.
	Hot int `json:"hot"`
	// WARM items.
	Warm int `json:"warm"`
	// COLD items.
	Cold int `json:"cold"`
	// Items that the flash save archived.
	Archived int `json:"archived"`
	// The sequence number of the checkpoint.
	Sequence int64 `json:"sequence"`
}

// MemoryFlashSaveResult is the receipt of a flash save.
type MemoryFlashSaveResult struct {
	// False where the context is not full enough: then nothing was written.
	Due bool `json:"due"`
	// How full it is, in percent; absent without a limit.
	Percent int `json:"percent,omitempty"`
	// The checkpoint; absent where none was due.
	Checkpoint *MemoryCheckpoint `json:"checkpoint,omitempty"`
	// The items, in the order in which they were sent.
	Items []MemorySaved `json:"items"`
	// The HOT items, with which the agent goes on after it cleared its context, in
	// the order in which they were saved; at most 8 MiB of contents.
	Hot []MemoryItem `json:"hot"`
	// What the agent has now.
	Memory MemoryCounts `json:"memory"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
	// What was replaced in the parameters, by family: secrets and personal data.
	Scrubbed map[string]int `json:"scrubbed,omitempty"`
}

// MemoryCheckpointsParams asks for an agent's checkpoints.
type MemoryCheckpointsParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// The agent; the session's when absent.
	Agent string `json:"agent,omitempty"`
	// At most so many, up to 1,000; 50 when absent.
	Limit int `json:"limit,omitempty"`
}

// MemoryCheckpointsResult lists checkpoints.
type MemoryCheckpointsResult struct {
	// Newest first.
	Checkpoints []MemoryCheckpoint `json:"checkpoints"`
	// How many the agent has.
	Total int `json:"total"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
}

// MemoryRestoreParams puts an agent's memory back.
type MemoryRestoreParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// The agent; the session's when absent.
	Agent string `json:"agent,omitempty"`
	// The id of one of its checkpoints.
	Checkpoint string `json:"checkpoint"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// MemoryRestoreResult tells what the agent has again.
type MemoryRestoreResult struct {
	// Items that came after the checkpoint and were removed.
	Removed int `json:"removed"`
	// What the agent has now.
	Memory MemoryCounts `json:"memory"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
	// What was replaced in the parameters, by family: secrets and personal data.
	Scrubbed map[string]int `json:"scrubbed,omitempty"`
}

// MemoryHeld is an item that a client holds.
type MemoryHeld struct {
	// The item's id.
	ID string `json:"id"`
	// SHA-256 of its content in UTF-8, as lower case hex.
	SHA256 string `json:"sha256"`
}

// MemoryDiffParams asks what is other than a client, or a checkpoint, has it.
type MemoryDiffParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// The agent; the session's when absent.
	Agent string `json:"agent,omitempty"`
	// What the client holds, at most 10,000 items.
	Held []MemoryHeld `json:"held,omitempty"`
	// The id of a checkpoint to compare with instead.
	Checkpoint string `json:"checkpoint,omitempty"`
	// "HOT", "WARM" and "COLD"; HOT alone when absent.
	Tiers []string `json:"tiers,omitempty"`
}

// MemoryDiffResult is what to change.
type MemoryDiffResult struct {
	// The agent.
	Agent string `json:"agent"`
	// Items of the tiers that are not held.
	Added []MemoryItem `json:"added"`
	// Items that are held with another content.
	Changed []MemoryItem `json:"changed"`
	// Ids of items that are held and are not in the tiers, or not there at all.
	Removed []string `json:"removed"`
	// Items that are held as they are.
	Unchanged int `json:"unchanged"`
	// Items that 8 MiB of contents left out: ask again with what is held then.
	More int `json:"more,omitempty"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
}

// MemoryParams tells that an agent's memory changed.
type MemoryParams struct {
	// The session in which it did.
	Session string `json:"session"`
	// "save" (items were saved or removed), "task" (a task was finished and items
	// moved to another tier), "retier", "flashSave" or "restore".
	Reason string `json:"reason" enum:"save,task,retier,flashSave,restore"`
	// The first 1,000 items that moved to another tier.
	Moved []MemoryMove `json:"moved"`
	// What the agent has now.
	Memory MemoryCounts `json:"memory"`
	// The sequence number of the change.
	Sequence int64 `json:"sequence"`
}
