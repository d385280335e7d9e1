package rpc

import (
	"context"
	"encoding/json"
	"os"
	"reflect"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"hexapla/rpc/wire"
)

// InitializeInfo is what a client says of itself in initialize.
type InitializeInfo struct {
	// Peer is the client.
	Peer *Peer
	// Folders are the workspace folders; rootUri or rootPath where a client
	// knows no folders. URIs are as the client wrote them.
	Folders []Folder
	// ProcessID of the client, 0 when it gave none.
	ProcessID int
	// ClientName and ClientVersion are "" when the client gave none.
	ClientName, ClientVersion string
	// Locale such as "en-GB"; "" when the client gave none.
	Locale string
	// Capabilities of the client as LSP has them.
	Capabilities protocol.ClientCapabilities
	// Hexapla is the raw experimental.hexapla of the client's capabilities;
	// nil when absent.
	Hexapla json.RawMessage
	// Options are the raw initializationOptions; nil when absent.
	Options json.RawMessage
}

// Folder is a workspace folder.
type Folder struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}

// Offer is what the server offers under experimental.hexapla of its
// capabilities.
type Offer struct {
	// ProtocolVersion rises when a client for the version before would break.
	ProtocolVersion int `json:"protocolVersion"`
	// Methods that a client may send, in the order of protocol.md.
	Methods []string `json:"methods"`
	// Events that may be sent.
	Events []string `json:"events"`
}

// initializeParams is the part of LSP's InitializeParams that is read. Parts
// that only some clients get right are decoded on their own, so that one odd
// capability does not keep a client out.
type initializeParams struct {
	ProcessID  *int `json:"processId,omitempty"`
	ClientInfo *struct {
		Name    string `json:"name,omitempty"`
		Version string `json:"version,omitempty"`
	} `json:"clientInfo,omitempty"`
	Locale                string          `json:"locale,omitempty"`
	RootPath              string          `json:"rootPath,omitempty"`
	RootURI               string          `json:"rootUri,omitempty"`
	WorkspaceFolders      []Folder        `json:"workspaceFolders,omitempty"`
	Capabilities          json.RawMessage `json:"capabilities,omitempty"`
	InitializationOptions json.RawMessage `json:"initializationOptions,omitempty"`
	Trace                 string          `json:"trace,omitempty"`
}

// initialize serves the request of that name. It runs like the first write:
// what was sent behind it waits for it.
func (s *server) initialize(ctx context.Context, f *flight, req *jsonrpc2.Request) (any, error) {
	if problem := s.life.initialize(); problem != nil {
		return nil, problem
	}
	f.ticket = s.dispatch.lane.take(true)
	jsonrpc2.Async(ctx)
	raw, err := s.dispatch.invoke(f.ctx, &entry{
		method:  wire.Method{Name: "initialize"},
		handler: s.greet,
	}, json.RawMessage(req.Params()))
	// What waits for this may go on when the reply is under way, not before.
	f.answered = func() {
		if s.life.answer(err == nil) {
			s.listen()
		}
		f.ticket.finish()
	}
	if err != nil {
		return nil, s.dispatch.publish("initialize", err, false)
	}
	return raw, nil
}

// greet decodes the parameters, tells the backend and makes the answer.
func (s *server) greet(ctx context.Context, raw json.RawMessage) (any, error) {
	var p initializeParams
	if err := s.greeting.decode(ctx, raw, reflect.ValueOf(&p).Elem()); err != nil {
		return nil, err
	}
	info := s.infoOf(&p)
	if err := s.options.Backend.Initialize(ctx, info); err != nil {
		return nil, err
	}
	s.gate.verbose.Store(p.Trace == string(protocol.TraceValueVerbose))
	if info.ProcessID > 0 && info.ProcessID != os.Getpid() {
		s.watch(info.ProcessID)
	}
	return s.answer()
}

func (s *server) infoOf(p *initializeParams) InitializeInfo {
	info := InitializeInfo{
		Peer: &Peer{s}, Folders: p.WorkspaceFolders, Locale: p.Locale,
		Options: absentNull(p.InitializationOptions),
	}
	if p.ProcessID != nil {
		info.ProcessID = *p.ProcessID
	}
	if p.ClientInfo != nil {
		info.ClientName, info.ClientVersion = p.ClientInfo.Name, p.ClientInfo.Version
	}
	if len(info.Folders) == 0 && p.RootURI != "" {
		info.Folders = []Folder{{URI: p.RootURI}}
	} else if len(info.Folders) == 0 && p.RootPath != "" {
		info.Folders = []Folder{{URI: string(uri.File(p.RootPath))}}
	}
	if len(p.Capabilities) > 0 {
		if err := protocol.Unmarshal(p.Capabilities, &info.Capabilities); err != nil {
			s.log.Warn("client capabilities are not as LSP has them")
			info.Capabilities = protocol.ClientCapabilities{}
		}
		var own struct {
			Experimental struct {
				Hexapla json.RawMessage `json:"hexapla"`
			} `json:"experimental"`
		}
		if s.codec.Unmarshal(p.Capabilities, &own) == nil {
			info.Hexapla = absentNull(own.Experimental.Hexapla)
		}
	}
	return info
}

// answer makes the result of initialize.
func (s *server) answer() (any, error) {
	offer := Offer{ProtocolVersion: wire.ProtocolVersion, Methods: s.dispatch.offered(), Events: []string{}}
	for _, m := range s.options.Methods {
		if m.Direction == wire.ServerToClient && m.Class == wire.ClassEvent {
			offer.Events = append(offer.Events, m.Name)
		}
	}
	experimental, err := s.codec.Marshal(map[string]Offer{"hexapla": offer})
	if err != nil {
		return nil, err
	}
	result := protocol.InitializeResult{
		Capabilities: protocol.ServerCapabilities{Experimental: protocol.LSPAny(experimental)},
		ServerInfo:   protocol.ServerInfo{Name: "hexapla"},
	}
	if s.options.Version != "" {
		result.ServerInfo.Version = protocol.NewOptional(s.options.Version)
	}
	raw, err := protocol.Marshal(result)
	return json.RawMessage(raw), err
}

func absentNull(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}
