package rpc

import (
	"context"
	"io"
)

// ServeInside serves a forwarder of the same process, for when it has no other
// server. Closing the connection ends the server and waits for that.
func ServeInside(opts Options) io.ReadWriteCloser {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	c := inside{ReadCloser: fromServer, to: toServer, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		Serve(context.Background(), in, out, opts)
	}()
	return c
}

type inside struct {
	io.ReadCloser
	to   io.WriteCloser
	done chan struct{}
}

func (c inside) Write(p []byte) (int, error) { return c.to.Write(p) }

// CloseWrite ends the server's input.
func (c inside) CloseWrite() error { return c.to.Close() }

func (c inside) Close() error {
	err := c.to.Close()
	_ = c.ReadCloser.Close() // nobody reads what comes now
	<-c.done
	return err
}
