package wire

import "reflect"

// ProtocolVersion is the version negotiated under experimental.hexapla. It
// rises only when a client written for the version before would break.
const ProtocolVersion = 0

// Direction says who sends a message.
type Direction string

// Directions of a message.
const (
	ClientToServer Direction = "clientToServer"
	ServerToClient Direction = "serverToClient"
)

// Class says how a message is ordered against others.
type Class string

// Classes of messages.
const (
	// ClassWrite messages take effect in the order in which they were sent.
	// The reply means that the write is on disk.
	ClassWrite Class = "write"
	// ClassRead messages run side by side and can be cancelled. They see every
	// write that was sent before them.
	ClassRead Class = "read"
	// ClassEvent messages are notifications. They are never answered.
	ClassEvent Class = "event"
)

// Method is one row of the table: everything that dispatch, documents and
// generated types need to know of a message.
type Method struct {
	Name      string
	Direction Direction
	Class     Class
	Doc       string       // one sentence
	Params    reflect.Type // a struct type of this package
	Result    reflect.Type // a struct type of this package; nil for an event
	Errors    []Kind       // beside those that any request may meet
	Since     string       // version of the server that brought it
}

// Names of all methods. The noun comes first, as in LSP.
const (
	MethodSessionOpen          = "hexapla/session/open"
	MethodSessionList          = "hexapla/session/list"
	MethodSessionClose         = "hexapla/session/close"
	MethodConversationRecord   = "hexapla/conversation/record"
	MethodConversationList     = "hexapla/conversation/list"
	MethodConversationGet      = "hexapla/conversation/get"
	MethodConversationEdit     = "hexapla/conversation/edit"
	MethodConversationAlias    = "hexapla/conversation/alias"
	MethodConversationForget   = "hexapla/conversation/forget"
	MethodToolRecord           = "hexapla/tool/record"
	MethodWorkspaceErase       = "hexapla/workspace/erase"
	MethodWorkspaceAdopt       = "hexapla/workspace/adopt"
	MethodBlobRead             = "hexapla/blob/read"
	MethodResponseIngest       = "hexapla/response/ingest"
	MethodHousekeepingApply    = "hexapla/housekeeping/apply"
	MethodHousekeepingHistory  = "hexapla/housekeeping/history"
	MethodHousekeepingRollback = "hexapla/housekeeping/rollback"
	MethodContextRequest       = "hexapla/context/request"
	MethodContextDeferrals     = "hexapla/context/deferrals"
	MethodContextCancel        = "hexapla/context/cancel"
	MethodSearchQuery          = "hexapla/search/query"
	MethodReferenceLookup      = "hexapla/reference/lookup"
	MethodChangeList           = "hexapla/change/list"
	MethodProblemLookup        = "hexapla/problem/lookup"
	MethodEntityNeighbors      = "hexapla/entity/neighbors"
	MethodContextPredict       = "hexapla/context/predict"
	MethodClusterList          = "hexapla/cluster/list"
	MethodLearningGet          = "hexapla/learning/get"
	MethodLearningReset        = "hexapla/learning/reset"
	MethodPinAdd               = "hexapla/pin/add"
	MethodPinRemove            = "hexapla/pin/remove"
	MethodPinList              = "hexapla/pin/list"
	MethodMemorySave           = "hexapla/memory/save"
	MethodMemoryLoad           = "hexapla/memory/load"
	MethodMemoryRetier         = "hexapla/memory/retier"
	MethodMemoryStats          = "hexapla/memory/stats"
	MethodMemoryFlashSave      = "hexapla/memory/flashSave"
	MethodMemoryCheckpoints    = "hexapla/memory/checkpoints"
	MethodMemoryRestore        = "hexapla/memory/restore"
	MethodMemoryDiff           = "hexapla/memory/diff"
	EventMemory                = "hexapla/event/memory"
	MethodPackBuild            = "hexapla/pack/build"
	MethodBudgetReport         = "hexapla/budget/report"
	MethodBudgetStatus         = "hexapla/budget/status"
	EventBudget                = "hexapla/event/budget"
	MethodTiersBuild           = "hexapla/tiers/build"
	MethodTiersCompare         = "hexapla/tiers/compare"
	MethodTiersSnapshots       = "hexapla/tiers/snapshots"
	MethodPackReplay           = "hexapla/pack/replay"
	MethodPackExplain          = "hexapla/pack/explain"
	MethodPackWhatIf           = "hexapla/pack/whatIf"
	MethodPackDiff             = "hexapla/pack/diff"
	MethodPackReceipt          = "hexapla/pack/receipt"
	MethodPackUndo             = "hexapla/pack/undo"
	MethodAuditQuery           = "hexapla/audit/query"
	MethodSecretsScan          = "hexapla/secrets/scan"
	MethodSecretsRescrub       = "hexapla/secrets/rescrub"
	MethodInstructionsGet      = "hexapla/instructions/get"
	MethodMetricsGet           = "hexapla/metrics/get"
	EventPacked                = "hexapla/event/packed"
	EventRecorded              = "hexapla/event/recorded"
	MethodProfileGet           = "hexapla/profile/get"
	MethodProfileSet           = "hexapla/profile/set"
	EventProfile               = "hexapla/event/profile"
	EventDrift                 = "hexapla/event/drift"
	MethodHistoryStats         = "hexapla/history/stats"
	MethodHistoryPrune         = "hexapla/history/prune"
	MethodHistoryManage        = "hexapla/history/manage"
	MethodHistorySummarize     = "hexapla/history/summarize"
	MethodHistoryGet           = "hexapla/history/get"
	EventPruned                = "hexapla/event/pruned"
	EventSummarized            = "hexapla/event/summarized"
	MethodLimitsStatus         = "hexapla/limits/status"
	MethodLimitsBreak          = "hexapla/limits/break"
	MethodLimitsRecover        = "hexapla/limits/recover"
	MethodLimitsErrors         = "hexapla/limits/errors"
	MethodLimitsRewards        = "hexapla/limits/rewards"
	EventLimits                = "hexapla/event/limits"
	EventTask                  = "hexapla/event/task"
)

// Methods returns the table in the order of protocol.md. The caller owns the
// slice.
func Methods() []Method {
	return []Method{
		request[SessionOpenParams, SessionOpenResult](MethodSessionOpen, ClassWrite,
			"Opens a session in a workspace, or resumes it by its id; the store is created at the first use.",
			KindOpIDReused, KindLocked, KindSchemaTooNew, KindCorrupt, KindStorageFull, KindResourceLimit),
		request[SessionListParams, SessionListResult](MethodSessionList, ClassRead,
			"Lists the sessions of a workspace, newest first.", KindNotFound, KindLocked),
		request[SessionCloseParams, SessionCloseResult](MethodSessionClose, ClassWrite,
			"Closes a session; a conversation in progress is completed.", KindNotFound, KindOpIDReused),
		request[ConversationRecordParams, ConversationRecordResult](MethodConversationRecord, ClassWrite,
			"Records turns of a conversation: a whole exchange at once, or turn by turn until done.",
			KindNotFound, KindOpIDReused, KindTooLarge, KindConversationDone, KindBlobDamaged, KindStorageFull, KindQuota),
		request[ConversationListParams, ConversationListResult](MethodConversationList, ClassRead,
			"Lists the workspace's conversations by their headers, newest first.", KindNotFound),
		request[ConversationGetParams, ConversationGetResult](MethodConversationGet, ClassRead,
			"Reads one conversation as header, summary, full text, or the cheapest of them that will do.", KindNotFound, KindForgotten, KindStateChanged),
		request[ConversationEditParams, ConversationEditResult](MethodConversationEdit, ClassWrite,
			"Makes a new version of a turn, or goes on from it anew; what it was stays readable.",
			KindNotFound, KindOpIDReused, KindTooLarge, KindStateChanged, KindBlobDamaged, KindStorageFull, KindQuota),
		request[ConversationAliasParams, ConversationAliasResult](MethodConversationAlias, ClassWrite,
			"Lets a name stand for a conversation.", KindNotFound, KindOpIDReused),
		request[ConversationForgetParams, ConversationForgetResult](MethodConversationForget, ClassWrite,
			"Takes a conversation, or a turn of it, out of the store with all that was made of it; its text is in no file afterwards.",
			KindNotFound, KindForgotten, KindStorageFull),
		request[WorkspaceEraseParams, WorkspaceEraseResult](MethodWorkspaceErase, ClassWrite,
			"Takes away everything that was recorded of a workspace.", KindLocked),
		request[WorkspaceAdoptParams, WorkspaceAdoptResult](MethodWorkspaceAdopt, ClassWrite,
			"Gives a folder the memory of another one that was renamed, moved or replaced.", KindNotFound),
		request[ToolRecordParams, ToolRecordResult](MethodToolRecord, ClassWrite,
			"Stores a tool output by its content and returns its compressed form.", KindNotFound, KindOpIDReused, KindTooLarge, KindStorageFull, KindQuota),
		request[BlobReadParams, BlobReadResult](MethodBlobRead, ClassRead,
			"Reads a stored tool output, whole or in part.", KindNotFound, KindBlobDamaged),
		request[ResponseIngestParams, ResponseIngestResult](MethodResponseIngest, ClassWrite,
			"Takes a model's answer apart, records it, applies its housekeeping and answers its context requests.",
			KindNotFound, KindOpIDReused, KindTooLarge, KindConversationDone, KindStorageFull, KindQuota),
		request[HousekeepingApplyParams, HousekeepingApplyResult](MethodHousekeepingApply, ClassWrite,
			"Applies what the model says of a conversation: header, summary and current context.", KindNotFound, KindOpIDReused),
		request[HousekeepingHistoryParams, HousekeepingHistoryResult](MethodHousekeepingHistory, ClassRead,
			"Lists the versions of a session's current context, newest first, with how far each is from the one before.", KindNotFound),
		request[HousekeepingRollbackParams, HousekeepingRollbackResult](MethodHousekeepingRollback, ClassWrite,
			"Puts an earlier version of the current context in force again.", KindNotFound, KindOpIDReused),
		request[ContextRequestParams, ContextRequestResult](MethodContextRequest, ClassWrite,
			"Answers the model's context requests; what was served is part of the next pack.", KindNotFound, KindOpIDReused),
		request[ContextDeferralsParams, ContextDeferralsResult](MethodContextDeferrals, ClassRead,
			"Lists what was asked for and waits for room, oldest first.", KindNotFound),
		request[ContextCancelParams, ContextCancelResult](MethodContextCancel, ClassWrite,
			"Takes deferrals out of the queue.", KindNotFound, KindOpIDReused),
		request[SearchQueryParams, SearchQueryResult](MethodSearchQuery, ClassRead,
			"Finds conversations and tool outputs by relevance; the parts of each score are shown.", KindNotFound, KindQueryTooComplex, KindStateChanged),
		request[ReferenceLookupParams, ReferenceLookupResult](MethodReferenceLookup, ClassRead,
			"Finds where a file, function, concept or error was spoken of.", KindNotFound),
		request[ChangeListParams, ChangeListResult](MethodChangeList, ClassRead,
			"Lists changes of files, newest first: what, by whom, in which conversation.", KindNotFound),
		request[ProblemLookupParams, ProblemLookupResult](MethodProblemLookup, ClassRead,
			"Looks an error up: where it was met before and what resolved it.", KindNotFound),
		request[EntityNeighborsParams, EntityNeighborsResult](MethodEntityNeighbors, ClassRead,
			"Tells what is connected to a file, function, concept or error, with the conversations that show it.", KindNotFound),
		request[ContextPredictParams, ContextPredictResult](MethodContextPredict, ClassRead,
			"Tells what the session's next turn is likely to need, with why.", KindNotFound),
		request[ClusterListParams, ClusterListResult](MethodClusterList, ClassRead,
			"Groups the workspace's conversations by what they are about.", KindNotFound),
		request[LearningGetParams, LearningGetResult](MethodLearningGet, ClassRead,
			"Tells how often conversations were asked for, used and come back to, and what scores learned from it.", KindNotFound),
		request[LearningResetParams, LearningResetResult](MethodLearningReset, ClassWrite,
			"Takes back what was learned, of one conversation or of all; past packs stay what they were.", KindNotFound, KindOpIDReused),
		request[PinAddParams, PinAddResult](MethodPinAdd, ClassWrite,
			"Pins a text: it stands in every pack of the workspace and is never dropped.", KindOpIDReused, KindQuota),
		request[PinRemoveParams, PinRemoveResult](MethodPinRemove, ClassWrite,
			"Takes a pin away.", KindNotFound, KindOpIDReused),
		request[PinListParams, PinListResult](MethodPinList, ClassRead,
			"Lists the pins of a workspace, oldest first."),
		request[MemorySaveParams, MemorySaveResult](MethodMemorySave, ClassWrite,
			"Saves memory items of an agent and gives them their tiers, or removes some.", KindNotFound, KindOpIDReused, KindTooLarge, KindStorageFull, KindQuota),
		request[MemoryLoadParams, MemoryLoadResult](MethodMemoryLoad, ClassWrite,
			"Loads an agent's memory items, HOT ones unless others are asked for, and counts their use.", KindNotFound, KindOpIDReused),
		request[MemoryRetierParams, MemoryRetierResult](MethodMemoryRetier, ClassWrite,
			"Gives an agent's memory items the tiers of their importance now, as the end of each task does.", KindNotFound, KindOpIDReused),
		request[MemoryStatsParams, MemoryStatsResult](MethodMemoryStats, ClassRead,
			"Counts the memory items and tokens of each agent, by tier.", KindNotFound),
		request[MemoryFlashSaveParams, MemoryFlashSaveResult](MethodMemoryFlashSave, ClassWrite,
			"Saves an agent's memory when its context is nearly full: a checkpoint, COLD items archived, HOT ones to go on with.", KindNotFound, KindOpIDReused, KindTooLarge, KindStorageFull, KindQuota),
		request[MemoryCheckpointsParams, MemoryCheckpointsResult](MethodMemoryCheckpoints, ClassRead,
			"Lists an agent's checkpoints, newest first.", KindNotFound),
		request[MemoryRestoreParams, MemoryRestoreResult](MethodMemoryRestore, ClassWrite,
			"Puts an agent's memory back to what it was at a checkpoint.", KindNotFound, KindOpIDReused, KindStorageFull, KindQuota),
		request[MemoryDiffParams, MemoryDiffResult](MethodMemoryDiff, ClassRead,
			"Compares by SHA-256 what a client holds, or a checkpoint has, with an agent's memory items.", KindNotFound),
		request[PackBuildParams, PackBuildResult](MethodPackBuild, ClassRead,
			"Builds the context for the next model call within a token budget.", KindNotFound, KindBudgetTooSmall, KindTokenLimit),
		request[BudgetReportParams, BudgetReportResult](MethodBudgetReport, ClassWrite,
			"Reports what the provider counted of a prompt, so that budgets in its tokens can be planned.", KindNotFound, KindOpIDReused),
		request[BudgetStatusParams, BudgetStatusResult](MethodBudgetStatus, ClassRead,
			"Tells what a session, and a user in a month, used in tokens and money, and which limit binds.", KindNotFound),
		request[TiersBuildParams, TiersBuildResult](MethodTiersBuild, ClassWrite,
			"Puts an agent's messages into four tiers by what is left of the budget; if that fails, they come back as they are.",
			KindNotFound),
		request[TiersCompareParams, TiersCompareResult](MethodTiersCompare, ClassRead,
			"Sets two strategies side by side on the same messages, without a trace.", KindNotFound, KindTooLarge, KindBudgetTooSmall),
		request[TiersSnapshotsParams, TiersSnapshotsResult](MethodTiersSnapshots, ClassRead,
			"Lists what was put into tiers, by session, user and time: numbers and the strategy.", KindNotFound),
		request[PackReplayParams, PackReplayResult](MethodPackReplay, ClassRead,
			"Builds a past pack again from the store and compares checksums.", KindNotFound),
		request[PackExplainParams, PackExplainResult](MethodPackExplain, ClassRead,
			"Lists everything that a pack shows or could show, with why, what took its place and at which budget it comes in.",
			KindNotFound, KindBudgetTooSmall),
		request[PackWhatIfParams, PackWhatIfResult](MethodPackWhatIf, ClassRead,
			"Tells what packs of several budgets and models would be like, without a trace.", KindNotFound),
		request[PackDiffParams, PackDiffResult](MethodPackDiff, ClassRead,
			"Compares two packs of the audit log.", KindNotFound),
		request[PackReceiptParams, PackReceiptResult](MethodPackReceipt, ClassRead,
			"Lists what a pack lost against the one before it, and which facts of that survived.", KindNotFound),
		request[PackUndoParams, PackUndoResult](MethodPackUndo, ClassWrite,
			"Gives the pack before a pack again, and puts what was lost into the next one.", KindNotFound, KindOpIDReused, KindStorageFull, KindQuota),
		request[AuditQueryParams, AuditQueryResult](MethodAuditQuery, ClassRead,
			"Lists what packs were built, with what in them, what was dropped and why.", KindNotFound),
		request[ProfileGetParams, ProfileGetResult](MethodProfileGet, ClassRead,
			"Tells which profile is in force in a session, why, and what its numbers are.", KindNotFound),
		request[ProfileSetParams, ProfileSetResult](MethodProfileSet, ClassWrite,
			"Sets the profile of a session by hand, or has it chosen from the recent turns again.", KindNotFound, KindOpIDReused),
		request[SecretsScanParams, SecretsScanResult](MethodSecretsScan, ClassRead,
			"Looks for secrets and personal data in what was recorded, or in a text, and tells where, never what.", KindNotFound, KindTooLarge),
		request[SecretsRescrubParams, SecretsRescrubResult](MethodSecretsRescrub, ClassWrite,
			"Puts placeholders in the place of secrets in everything that was recorded before, by the rules that are in force now.", KindNotFound, KindStorageFull),
		request[InstructionsGetParams, InstructionsGetResult](MethodInstructionsGet, ClassRead,
			"Returns the text and the tool schemas that teach a model to give housekeeping and to ask for context."),
		request[MetricsGetParams, MetricsGetResult](MethodMetricsGet, ClassRead,
			"Returns counts, sizes and latencies of a workspace and of this process.", KindNotFound),
		request[HistoryStatsParams, HistoryStatsResult](MethodHistoryStats, ClassRead,
			"Tells how full a bare list of messages is and whether it needs pruning.", KindNotFound, KindTooLarge),
		request[HistoryPruneParams, HistoryPruneResult](MethodHistoryPrune, ClassWrite,
			"Takes the messages out of a list that are worth least, until it fits; what is removed is archived.",
			KindNotFound, KindOpIDReused, KindTooLarge, KindBudgetTooSmall, KindStorageFull, KindQuota),
		request[HistoryManageParams, HistoryManageResult](MethodHistoryManage, ClassWrite,
			"Prunes a list that is over its threshold, and leaves any other as it is.",
			KindNotFound, KindOpIDReused, KindTooLarge, KindBudgetTooSmall, KindStorageFull, KindQuota),
		request[HistorySummarizeParams, HistorySummarizeResult](MethodHistorySummarize, ClassWrite,
			"Makes one message of all but the last of a list; what it stands for is archived.",
			KindNotFound, KindOpIDReused, KindTooLarge, KindStorageFull, KindQuota),
		request[HistoryGetParams, HistoryGetResult](MethodHistoryGet, ClassRead,
			"Reads messages that were removed from lists.", KindNotFound),
		request[LimitsStatusParams, LimitsStatusResult](MethodLimitsStatus, ClassRead,
			"Tells which limit an agent has with a model, what is set, and how often it was met in the last hour.", KindNotFound),
		request[LimitsBreakParams, LimitsBreakResult](MethodLimitsBreak, ClassWrite,
			"Breaks a list of units down to its agent's limit; what is taken out is archived.",
			KindNotFound, KindOpIDReused, KindTooLarge, KindBreakerFailed, KindStorageFull, KindQuota),
		request[LimitsRecoverParams, LimitsRecoverResult](MethodLimitsRecover, ClassWrite,
			"Gives a context up and returns what to go on with.", KindNotFound, KindOpIDReused, KindTooLarge, KindStorageFull, KindQuota),
		request[LimitsErrorsParams, LimitsErrorsResult](MethodLimitsErrors, ClassRead,
			"Lists what went wrong with limits, and how often.", KindNotFound),
		request[LimitsRewardsParams, LimitsRewardsResult](MethodLimitsRewards, ClassRead,
			"Lists what breakings were worth, for learning from them.", KindNotFound),
		event[PackedParams](EventPacked, "A pack was built."),
		event[RecordedParams](EventRecorded, "A write was committed."),
		event[DriftParams](EventDrift, "The model gave a current context that says something else than the one before."),
		event[MemoryParams](EventMemory, "An agent's memory changed: items were saved, removed, moved to another tier or put back."),
		event[ProfileParams](EventProfile, "Another profile is in force in a session."),
		event[BudgetParams](EventBudget, "A report took so much of a budget that another rule is in force, or nothing is left."),
		event[PrunedParams](EventPruned, "A list of messages was pruned."),
		event[SummarizedParams](EventSummarized, "Messages of a list were put into a summary."),
		event[LimitsParams](EventLimits, "A context is being broken down to its limit."),
		event[TaskParams](EventTask, "A task is due."),
	}
}

func request[P, R any](name string, class Class, doc string, errors ...Kind) Method {
	return Method{
		Name: name, Direction: ClientToServer, Class: class, Doc: doc,
		Params: reflect.TypeFor[P](), Result: reflect.TypeFor[R](), Errors: errors, Since: "0.1.0",
	}
}

func event[P any](name, doc string) Method {
	return Method{
		Name: name, Direction: ServerToClient, Class: ClassEvent, Doc: doc,
		Params: reflect.TypeFor[P](), Since: "0.1.0",
	}
}
