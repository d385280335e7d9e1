package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"hexapla/layers"
	"hexapla/rpc/wire"
	"hexapla/session"
)

// BackendOptions are what a backend is made of.
type BackendOptions struct {
	DataDir  string       // where the workspaces' stores lie
	Log      *slog.Logger // until a client listens; nil discards
	Now      func() int64 // Unix milliseconds; the system's clock when nil
	NoIndex  bool         // search scans the stores, and no index is opened
	Settings string       // the user's file of limits; "" for none
	// ModelCaches are folders where other programs keep models.
	ModelCaches []string
	Random      io.Reader // where keys of new stores come from; crypto/rand.Reader when nil
}

// NewBackend returns the backend of a server with one client, which has the
// workspaces of a data folder for itself. Stores are opened when the client
// opens its first session in them.
func NewBackend(opts BackendOptions) Backend {
	return &backend{host: NewHost(opts), alone: true, log: opts.Log}
}

// backend binds the methods of the table to the sessions of one client.
type backend struct {
	host    *Host
	alone   bool             // the host ends with the client
	service *session.Service // from initialize on, before which no handler is called
	client  string           // its name, as well
	pulls   bool             // it can be asked for its settings, as well

	mu   sync.Mutex // guards what follows
	log  *slog.Logger
	peer *Peer // nil until initialize
}

// Handlers implements Backend.
func (b *backend) Handlers() map[string]Handler {
	handlers := b.methods()
	for name, handle := range handlers {
		handlers[name] = func(ctx context.Context, raw json.RawMessage) (any, error) {
			return handle(session.WithClient(ctx, b.client), raw)
		}
	}
	return b.atDoor(handlers)
}

func (b *backend) methods() map[string]Handler {
	return map[string]Handler{
		wire.MethodSessionOpen:          Typed(b.sessionOpen),
		wire.MethodSessionList:          Typed(b.sessionList),
		wire.MethodSessionClose:         Typed(b.sessionClose),
		wire.MethodConversationRecord:   Typed(b.conversationRecord),
		wire.MethodConversationList:     Typed(b.conversationList),
		wire.MethodConversationGet:      Typed(b.conversationGet),
		wire.MethodConversationForget:   Typed(b.conversationForget),
		wire.MethodWorkspaceErase:       Typed(b.workspaceErase),
		wire.MethodWorkspaceAdopt:       Typed(b.workspaceAdopt),
		wire.MethodToolRecord:           Typed(b.toolRecord),
		wire.MethodBlobRead:             Typed(b.blobRead),
		wire.MethodResponseIngest:       Typed(b.responseIngest),
		wire.MethodHousekeepingApply:    Typed(b.housekeepingApply),
		wire.MethodHousekeepingHistory:  Typed(b.housekeepingHistory),
		wire.MethodHousekeepingRollback: Typed(b.housekeepingRollback),
		wire.MethodContextRequest:       Typed(b.contextRequest),
		wire.MethodSearchQuery:          Typed(b.searchQuery),
		wire.MethodReferenceLookup:      Typed(b.referenceLookup),
		wire.MethodChangeList:           Typed(b.changeList),
		wire.MethodProblemLookup:        Typed(b.problemLookup),
		wire.MethodEntityNeighbors:      Typed(b.entityNeighbors),
		wire.MethodContextPredict:       Typed(b.contextPredict),
		wire.MethodClusterList:          Typed(b.clusterList),
		wire.MethodLearningGet:          Typed(b.learningGet),
		wire.MethodLearningReset:        Typed(b.learningReset),
		wire.MethodPackBuild:            Typed(b.packBuild),
		wire.MethodPinAdd:               Typed(b.pinAdd),
		wire.MethodConversationEdit:     Typed(b.conversationEdit),
		wire.MethodConversationAlias:    Typed(b.conversationAlias),
		wire.MethodContextDeferrals:     Typed(b.contextDeferrals),
		wire.MethodContextCancel:        Typed(b.contextCancel),
		wire.MethodPinRemove:            Typed(b.pinRemove),
		wire.MethodPinList:              Typed(b.pinList),
		wire.MethodMemorySave:           Typed(b.memorySave),
		wire.MethodMemoryLoad:           Typed(b.memoryLoad),
		wire.MethodMemoryRetier:         Typed(b.memoryRetier),
		wire.MethodMemoryStats:          Typed(b.memoryStats),
		wire.MethodMemoryFlashSave:      Typed(b.memoryFlashSave),
		wire.MethodMemoryCheckpoints:    Typed(b.memoryCheckpoints),
		wire.MethodMemoryRestore:        Typed(b.memoryRestore),
		wire.MethodMemoryDiff:           Typed(b.memoryDiff),
		wire.MethodBudgetReport:         Typed(b.budgetReport),
		wire.MethodBudgetStatus:         Typed(b.budgetStatus),
		wire.MethodTiersBuild:           Typed(b.tiersBuild),
		wire.MethodTiersCompare:         Typed(b.tiersCompare),
		wire.MethodTiersSnapshots:       Typed(b.tiersSnapshots),
		wire.MethodPackReplay:           Typed(b.packReplay),
		wire.MethodPackExplain:          Typed(b.packExplain),
		wire.MethodPackWhatIf:           Typed(b.packWhatIf),
		wire.MethodPackDiff:             Typed(b.packDiff),
		wire.MethodPackReceipt:          Typed(b.packReceipt),
		wire.MethodPackUndo:             Typed(b.packUndo),
		wire.MethodProfileGet:           Typed(b.profileGet),
		wire.MethodProfileSet:           Typed(b.profileSet),
		wire.MethodAuditQuery:           Typed(b.auditQuery),
		wire.MethodInstructionsGet:      Typed(b.instructionsGet),
		wire.MethodSecretsScan:          Typed(b.secretsScan),
		wire.MethodSecretsRescrub:       Typed(b.secretsRescrub),
		wire.MethodHistoryStats:         Typed(b.historyStats),
		wire.MethodHistoryPrune:         Typed(b.historyPrune),
		wire.MethodHistorySummarize:     Typed(b.historySummarize),
		wire.MethodHistoryManage:        Typed(b.historyManage),
		wire.MethodHistoryGet:           Typed(b.historyGet),
		wire.MethodMetricsGet:           Typed(b.metricsGet),
		wire.MethodLimitsStatus:         Typed(b.limitsStatus),
		wire.MethodLimitsBreak:          Typed(b.limitsBreak),
		wire.MethodLimitsRecover:        Typed(b.limitsRecover),
		wire.MethodLimitsErrors:         Typed(b.limitsErrors),
		wire.MethodLimitsRewards:        Typed(b.limitsRewards),
	}
}

// Initialize implements Backend.
func (b *backend) Initialize(_ context.Context, info InitializeInfo) error {
	var client session.ClientOptions
	var options struct {
		Policy     json.RawMessage `json:"policy"`
		Profiles   json.RawMessage `json:"profiles"`
		Memory     json.RawMessage `json:"memory"`
		Models     json.RawMessage `json:"models"`
		Audit      json.RawMessage `json:"audit"`
		Secrets    json.RawMessage `json:"secrets"`
		Storage    json.RawMessage `json:"storage"`
		Budget     json.RawMessage `json:"budget"`
		Tiers      json.RawMessage `json:"tiers"`
		Trace      json.RawMessage `json:"trace"`
		Context    json.RawMessage `json:"context_config"`
		Embeddings json.RawMessage `json:"embeddings"`
	}
	if info.Options != nil {
		if err := json.Unmarshal(info.Options, &options); err != nil {
			return InvalidParams("initializationOptions", "initializationOptions: must be an object")
		}
	}
	if options.Policy != nil {
		policy, err := layers.ParsePolicy(options.Policy, layers.DefaultPolicy())
		if err != nil {
			return badSetting("policy", err)
		}
		client.Policy = policy
	}
	if options.Profiles != nil {
		profiles, err := layers.ParseProfiles(options.Profiles, layers.DefaultProfiles())
		if err != nil {
			return badSetting("profiles", err)
		}
		client.Profiles = profiles
	}
	if options.Memory != nil {
		memory, err := layers.ParseMemoryPolicy(options.Memory, layers.DefaultMemoryPolicy())
		if err != nil {
			return badSetting("memory", err)
		}
		client.Memory = memory
	}
	var err error
	if options.Models != nil {
		if client.Models, err = session.ParseModels(options.Models); err != nil {
			return badSetting("models", err)
		}
	}
	if options.Audit != nil {
		if client.Audit, err = session.ParseAuditRetention(options.Audit); err != nil {
			return badLimit("audit", err)
		}
	}
	if options.Storage != nil {
		if client.Storage, err = session.ParseStorageLimits(options.Storage); err != nil {
			return badLimit("storage", err)
		}
	}
	if options.Budget != nil {
		if client.Budget, err = session.ParseBudgetLimits(options.Budget); err != nil {
			return badLimit("budget", err)
		}
	}
	if options.Trace != nil {
		if client.Tracing, err = session.ParseTracing(options.Trace); err != nil {
			return badLimit("trace", err)
		}
	}
	if options.Embeddings != nil {
		if client.Embeddings, err = session.ParseEmbeddingSettings(options.Embeddings); err != nil {
			return badLimit("embeddings", err)
		}
	}
	if client.Tiers, err = readTierRules(options.Tiers); err != nil {
		return err
	}
	if client.Context, err = readContextConfig(options.Context); err != nil {
		return err
	}
	if client.Secrets, err = readSecrets(options.Secrets); err != nil {
		return err
	}
	b.client, b.pulls = info.ClientName, canPull(&info)
	b.mu.Lock()
	b.peer, b.log = info.Peer, info.Peer.Log()
	b.mu.Unlock()
	client.Logf = b.logf
	b.service = b.host.workspaces.Client(client)
	b.host.join(b)
	return nil
}

// badLimit tells what is wrong with a limit that the client sets.
func badLimit(member string, err error) *Error {
	const options = "initializationOptions."
	e := InvalidParams(options+member, options+err.Error())
	var bad *session.InvalidError
	if errors.As(err, &bad) {
		e.Data.Path, e.Data.Limit = options+bad.Path, bad.Limit
	}
	return e
}

// badSetting tells what is wrong with a member of the settings.
func badSetting(member string, err error) *Error {
	const options = "initializationOptions."
	e := InvalidParams(options+member, options+err.Error())
	var over *layers.LimitError
	if errors.As(err, &over) {
		e.Data.Path, e.Data.Limit = options+over.Member, int64(over.Limit())
	}
	return e
}

// Close implements Backend.
func (b *backend) Close(ctx context.Context) error {
	b.host.leave(b)
	if b.service == nil {
		return nil
	}
	done := make(chan error, 1)
	go func() {
		err := b.service.Close()
		if b.alone {
			err = errors.Join(err, b.host.workspaces.Close())
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// logf logs what the sessions have to say, to the client once it listens.
func (b *backend) logf(format string, args ...any) {
	b.mu.Lock()
	log := b.log
	b.mu.Unlock()
	if log != nil {
		log.Warn(fmt.Sprintf(format, args...))
	}
}

// notify sends an event of a session to every client that has its workspace
// open. Events that a slow client does not take are counted and told by the
// connection; they never hold up a request.
func (b *backend) notify(name, method string, params any) {
	if s, err := b.service.Session(name); err == nil {
		b.host.publish(s.Workspace.ID, method, params)
	}
}

// tell sends an event to this client.
func (b *backend) tell(method string, params any) {
	b.mu.Lock()
	peer := b.peer
	b.mu.Unlock()
	if peer != nil {
		_ = peer.Notify(method, params)
	}
}

// recorded tells clients that a write was committed.
func (b *backend) recorded(session, method string, sequence int64, conversation string) {
	b.notify(session, wire.EventRecorded, wire.RecordedParams{
		Session: session, Method: method, Sequence: sequence, Conversation: conversation,
	})
}

func (b *backend) latencies() []wire.Latency {
	b.mu.Lock()
	peer := b.peer
	b.mu.Unlock()
	if peer == nil {
		return nil
	}
	return peer.Latencies()
}
