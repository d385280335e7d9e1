package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
)

// Client speaks to a server from a Go program. It is safe for concurrent use.
type Client struct {
	conn   jsonrpc2.Conn
	codec  codec
	stream io.Closer
	child  *exec.Cmd

	once sync.Once
	code int
	err  error
}

// ClientOptions are what a client does with messages of the server; each may
// be nil.
type ClientOptions struct {
	// OnEvent is called for each notification, in order, on the goroutine that
	// reads: until it returns, nothing else arrives.
	OnEvent func(method string, params json.RawMessage)
	// OnRequest answers requests of the server, each on a goroutine of its own.
	// Without it they are answered as unknown.
	OnRequest func(ctx context.Context, method string, params json.RawMessage) (any, error)
}

// InitializeParams is what a client says of itself; every field is optional.
type InitializeParams struct {
	ProcessID        int                         `json:"processId,omitempty"`
	ClientName       string                      `json:"-"`
	ClientVersion    string                      `json:"-"`
	WorkspaceFolders []Folder                    `json:"workspaceFolders,omitempty"`
	Capabilities     protocol.ClientCapabilities `json:"-"`
	Options          json.RawMessage             `json:"initializationOptions,omitempty"`
}

// InitializeResult is what a server says of itself.
type InitializeResult struct {
	Offer         Offer
	ServerName    string
	ServerVersion string
}

// NewClient returns a client over a byte stream to a server, which it owns.
// Ending ctx does not end the client; Close does.
func NewClient(ctx context.Context, stream io.ReadWriteCloser, opts ClientOptions) *Client {
	c := &Client{codec: newCodec(), stream: stream}
	c.conn = jsonrpc2.NewConn(jsonrpc2.NewHeaderStream(stream), jsonrpc2.WithCodec(c.codec))
	c.conn.Go(context.WithoutCancel(ctx), func(ctx context.Context, req *jsonrpc2.Request) (any, error) {
		return c.receive(ctx, req, opts)
	})
	return c
}

// StartChild starts a server as a child process and returns a client to it
// over its standard input and output, which must not be set. When ctx ends and
// cmd was made with it, the child is killed.
func StartChild(ctx context.Context, cmd *exec.Cmd, opts ClientOptions) (*Client, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start child: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start child: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start child: %w", err)
	}
	c := NewClient(ctx, duplex{out, in}, opts)
	c.child = cmd
	return c, nil
}

// duplex joins the two pipes of a child.
type duplex struct {
	io.ReadCloser
	w io.WriteCloser
}

func (d duplex) Write(p []byte) (int, error) { return d.w.Write(p) }

func (d duplex) Close() error { return errors.Join(d.w.Close(), d.ReadCloser.Close()) }

func (c *Client) receive(ctx context.Context, req *jsonrpc2.Request, opts ClientOptions) (any, error) {
	if !req.IsCall() {
		if opts.OnEvent != nil {
			opts.OnEvent(string([]byte(req.Method())), append(json.RawMessage(nil), req.Params()...))
		}
		return nil, nil
	}
	if opts.OnRequest == nil {
		return nil, jsonrpc2.NewError(jsonrpc2.MethodNotFound, "no such request")
	}
	jsonrpc2.Async(ctx)
	result, err := opts.OnRequest(ctx, req.Method(), json.RawMessage(req.Params()))
	var own *Error
	if errors.As(err, &own) {
		return nil, own.onWire(c.codec)
	}
	if err != nil {
		return nil, jsonrpc2.NewError(jsonrpc2.InternalError, "internal error")
	}
	return result, nil
}

// Initialize sends initialize and initialized.
func (c *Client) Initialize(ctx context.Context, p InitializeParams) (*InitializeResult, error) {
	capabilities, err := protocol.Marshal(p.Capabilities)
	if err != nil {
		return nil, fmt.Errorf("initialize: %w", err)
	}
	params := struct {
		InitializeParams
		Info struct {
			Name    string `json:"name"`
			Version string `json:"version,omitempty"`
		} `json:"clientInfo"`
		Capabilities json.RawMessage `json:"capabilities"`
	}{InitializeParams: p, Capabilities: capabilities}
	params.Info.Name, params.Info.Version = p.ClientName, p.ClientVersion
	var answer struct {
		Capabilities struct {
			Experimental struct {
				Hexapla Offer `json:"hexapla"`
			} `json:"experimental"`
		} `json:"capabilities"`
		ServerInfo struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"serverInfo"`
	}
	if err := c.Call(ctx, "initialize", params, &answer); err != nil {
		return nil, err
	}
	if err := c.Notify(ctx, "initialized", struct{}{}); err != nil {
		return nil, err
	}
	return &InitializeResult{
		Offer:         answer.Capabilities.Experimental.Hexapla,
		ServerName:    answer.ServerInfo.Name,
		ServerVersion: answer.ServerInfo.Version,
	}, nil
}

// Call sends a request and decodes the answer into result, which may be nil.
// An error response comes back as an *Error. When ctx ends first, the request
// is cancelled and the error is the context's.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	id, err := c.conn.Call(ctx, method, params, result)
	if err == nil {
		return nil
	}
	if n, ok := id.Number(); ok && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		// The server may be gone already; the caller has its error anyway.
		_ = c.conn.Notify(context.WithoutCancel(ctx), "$/cancelRequest", map[string]int64{"id": n})
		return fmt.Errorf("call %s: %w", method, err)
	}
	if remote := fromWire(c.codec, err); IsError(remote) {
		return remote
	}
	return fmt.Errorf("call %s: %w", method, err)
}

// IsError reports whether err is an *Error, that is, an answer of the server.
func IsError(err error) bool {
	var e *Error
	return errors.As(err, &e)
}

// Notify sends a notification.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	if err := c.conn.Notify(ctx, method, params); err != nil {
		return fmt.Errorf("notify %s: %w", method, err)
	}
	return nil
}

// Shutdown sends shutdown, waits for the answer, and sends exit.
func (c *Client) Shutdown(ctx context.Context) error {
	if err := c.Call(ctx, "shutdown", nil, nil); err != nil {
		return err
	}
	return c.Notify(ctx, "exit", nil)
}

// Wait waits until the server has closed the connection and, for a child, has
// ended. It returns the child's exit code, -1 when a signal ended it.
func (c *Client) Wait() (exitCode int, err error) {
	<-c.conn.Done()
	c.once.Do(func() {
		if c.child == nil {
			return
		}
		var exit *exec.ExitError
		if err := c.child.Wait(); err != nil && !errors.As(err, &exit) {
			c.err = fmt.Errorf("wait: %w", err)
		}
		c.code = c.child.ProcessState.ExitCode()
	})
	return c.code, c.err
}

// Close closes the stream without shutdown. Calls in flight fail. A child sees
// the end of its input and ends.
func (c *Client) Close() error { return c.stream.Close() }
