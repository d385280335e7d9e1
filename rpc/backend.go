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
	DataDir string       // where the workspaces' stores lie
	Log     *slog.Logger // until a client listens; nil discards
	Now     func() int64 // Unix milliseconds; the system's clock when nil
	Random  io.Reader    // where keys of new stores come from; crypto/rand.Reader when nil
}

// NewBackend returns the backend that serves workspaces from a data folder.
// Stores are opened when a client opens its first session in them.
func NewBackend(opts BackendOptions) Backend {
	b := &backend{log: opts.Log}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	b.options = session.Options{DataDir: opts.DataDir, Now: opts.Now, Random: opts.Random, Logf: func(format string, args ...any) {
		b.logger().Warn(fmt.Sprintf(format, args...))
	}}
	return b
}

// backend binds the methods of the table to the sessions.
type backend struct {
	options session.Options
	service *session.Service // from initialize on, before which no handler is called

	mu   sync.Mutex // guards what follows
	log  *slog.Logger
	peer *Peer // nil until initialize
}

// Handlers implements Backend.
func (b *backend) Handlers() map[string]Handler {
	return b.atDoor(map[string]Handler{
		wire.MethodSessionOpen:          Typed(b.sessionOpen),
		wire.MethodSessionList:          Typed(b.sessionList),
		wire.MethodSessionClose:         Typed(b.sessionClose),
		wire.MethodConversationRecord:   Typed(b.conversationRecord),
		wire.MethodConversationGet:      Typed(b.conversationGet),
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
		wire.MethodBudgetReport:         Typed(b.budgetReport),
		wire.MethodPackReplay:           Typed(b.packReplay),
		wire.MethodPackExplain:          Typed(b.packExplain),
		wire.MethodPackWhatIf:           Typed(b.packWhatIf),
		wire.MethodPackDiff:             Typed(b.packDiff),
		wire.MethodPackReceipt:          Typed(b.packReceipt),
		wire.MethodPackUndo:             Typed(b.packUndo),
		wire.MethodAuditQuery:           Typed(b.auditQuery),
		wire.MethodInstructionsGet:      Typed(b.instructionsGet),
		wire.MethodSecretsScan:          Typed(b.secretsScan),
		wire.MethodMetricsGet:           Typed(b.metricsGet),
	})
}

// Initialize implements Backend.
func (b *backend) Initialize(_ context.Context, info InitializeInfo) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var options struct {
		Policy  json.RawMessage `json:"policy"`
		Audit   json.RawMessage `json:"audit"`
		Secrets json.RawMessage `json:"secrets"`
	}
	if info.Options != nil {
		if err := json.Unmarshal(info.Options, &options); err != nil {
			return InvalidParams("initializationOptions", "initializationOptions: must be an object")
		}
	}
	if options.Policy != nil {
		policy, err := layers.ParsePolicy(options.Policy, layers.DefaultPolicy())
		if err != nil {
			return InvalidParams("initializationOptions.policy", "initializationOptions."+err.Error())
		}
		b.options.Policy = policy
	}
	if options.Audit != nil {
		retention, err := session.ParseAuditRetention(options.Audit)
		if err != nil {
			e := InvalidParams("initializationOptions.audit", "initializationOptions."+err.Error())
			var bad *session.InvalidError
			if errors.As(err, &bad) {
				e.Data.Path, e.Data.Limit = "initializationOptions."+bad.Path, bad.Limit
			}
			return e
		}
		b.options.Audit = retention
	}
	if err := b.setSecrets(options.Secrets); err != nil {
		return err
	}
	b.service = session.New(b.options)
	b.peer, b.log = info.Peer, info.Peer.Log()
	return nil
}

// Close implements Backend.
func (b *backend) Close(ctx context.Context) error {
	if b.service == nil {
		return nil
	}
	done := make(chan error, 1)
	go func() { done <- b.service.Close() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *backend) logger() *slog.Logger {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log
}

// notify sends an event. Events that a slow client does not take are counted
// and told by the connection; they never hold up a request.
func (b *backend) notify(method string, params any) {
	b.mu.Lock()
	peer := b.peer
	b.mu.Unlock()
	if peer != nil {
		_ = peer.Notify(method, params)
	}
}

// recorded tells the client that a write was committed.
func (b *backend) recorded(session, method string, sequence int64, conversation string) {
	b.notify(wire.EventRecorded, wire.RecordedParams{
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
