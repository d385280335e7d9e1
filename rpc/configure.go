package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"go.lsp.dev/jsonrpc2"

	"hexapla/layers/limits"
	"hexapla/rpc/wire"
	"hexapla/session/contextconfig"
)

// configurable is a backend whose client can change its settings at any time.
type configurable interface {
	// Configure takes what the client sets now of context_config; nil for nothing.
	Configure(settings json.RawMessage) error
	// Pulls tells whether the client is to be asked for it.
	Pulls() bool
	// RetryOf is how often a request to the client is tried.
	RetryOf(method string) limits.Retry
}

// didChangeConfiguration is the notification of changed settings.
const didChangeConfiguration = "workspace/didChangeConfiguration"

// contextSection is the section of the client's settings that is read.
const contextSection = "hexapla.context_config"

// configured serves workspace/didChangeConfiguration: settings come with it, as
// {"hexapla": {"context_config": …}} or without the outer one, or the client is asked
// for them. Settings that cannot be taken are told in the log and change nothing.
func (s *server) configured(ctx context.Context, req *jsonrpc2.Request) {
	b, ok := s.options.Backend.(configurable)
	if !ok || s.life.serving() != nil {
		return
	}
	var params struct {
		Settings struct {
			Hexapla *struct {
				Context json.RawMessage `json:"context_config"`
			} `json:"hexapla"`
			Context json.RawMessage `json:"context_config"`
		} `json:"settings"`
	}
	_ = json.Unmarshal(req.Params(), &params) // of any form, by LSP
	settings := params.Settings.Context
	if h := params.Settings.Hexapla; h != nil {
		settings = h.Context
	}
	if settings != nil || params.Settings.Hexapla != nil {
		s.configure(b, settings)
		return
	}
	if !b.Pulls() {
		return
	}
	jsonrpc2.Async(ctx)
	asked := map[string]any{"items": []map[string]string{{"section": contextSection}}}
	var answer []json.RawMessage
	const method = "workspace/configuration"
	if err := (&Peer{s}).CallAgain(s.base, b.RetryOf(method), method, asked, &answer); err != nil {
		s.log.Warn("the client did not give its settings", "error", err)
		return
	}
	if len(answer) == 1 {
		s.configure(b, answer[0])
	}
}

func (s *server) configure(b configurable, settings json.RawMessage) {
	if err := b.Configure(absentNull(settings)); err != nil {
		s.log.Warn("settings do not count", "error", err)
	}
}

// CallAgain is Call, tried again by a policy where the client says that it may work
// later: that it is busy, or that something changed meanwhile.
func (p *Peer) CallAgain(ctx context.Context, retry limits.Retry, method string, params, result any) error {
	for attempt := 1; ; attempt++ {
		err := p.Call(ctx, method, params, result)
		var remote *Error
		if err == nil || !errors.As(err, &remote) || !remote.Data.Retryable && remote.Code != wire.CodeServerBusy && remote.Code != wire.CodeContentModified {
			return err
		}
		seconds, again := retry.Delay(attempt + 1)
		if !again {
			return err
		}
		timer := time.NewTimer(time.Duration(seconds) * time.Second)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// Configure implements configurable.
func (b *backend) Configure(settings json.RawMessage) error {
	document, err := readContextConfig(settings)
	if err != nil {
		return err
	}
	b.service.Configure(document)
	return nil
}

// Pulls implements configurable.
func (b *backend) Pulls() bool { return b.pulls }

// RetryOf implements configurable: by what the client itself sets.
func (b *backend) RetryOf(method string) limits.Retry {
	config := limits.Default()
	if document := b.service.Configuration(); document != nil {
		if set, err := contextconfig.Read(contextconfig.NameClient, document, config); err == nil {
			config = set
		}
	}
	return config.RetryOf(method)
}

// canPull tells whether a client says that it can be asked for settings.
func canPull(info *InitializeInfo) bool {
	w := info.Capabilities.Workspace
	return w != nil && w.Configuration != nil && *w.Configuration
}
