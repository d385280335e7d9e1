package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// Bounds of a daemon.
const (
	glanceTime   = 100 * time.Millisecond // for the lock, which others look at
	firstTime    = 5 * time.Second        // for the first client, if Idle is less
	greetingTime = 5 * time.Second        // for a client's first line
	leaveTime    = 250 * time.Millisecond // for clients' requests, when the daemon leaves
	closeTime    = 200 * time.Millisecond // for the stores, after that
)

// Options are what a daemon is made of.
type Options struct {
	Place   Place
	Release Release
	Idle    time.Duration // without clients, after which it leaves
	Started int64         // Unix milliseconds
	Log     *slog.Logger
	Prepare func() // called once, first, when the lock is held
	Ready   func() // called when clients can connect
	// Serve speaks to one client until it leaves or ctx ends, and closes conn.
	Serve func(ctx context.Context, conn net.Conn)
	// Workspaces tells how many are open.
	Workspaces func() int
	// Close is called once, last, before the lock is given back.
	Close func(ctx context.Context)
}

// Run is the daemon of a data folder until ctx ends, a client asks it to leave,
// or it had no clients for a while. ErrHeld means that there is one already. It
// returns within half a second after its end was asked for, and no request that
// was answered is lost by that.
func Run(ctx context.Context, opts Options) error {
	if !supported {
		return ErrUnsupported
	}
	lock, err := opts.Place.openLock("daemon.lock")
	if err != nil {
		return err
	}
	defer lock.Close()
	// Who looks for a daemon holds the lock for a moment.
	if err := waitLock(ctx, lock, glanceTime); errors.Is(err, ErrUnresponsive) {
		return ErrHeld
	} else if err != nil {
		return fmt.Errorf("daemon's lock: %w", err)
	}
	listener, path, err := listen(opts.Place)
	if err != nil {
		return err
	}
	opts.Prepare()
	d := &daemon{Options: opts, socket: path, listener: listener, leaving: make(chan struct{})}
	text, err := json.Marshal(holder{PID: os.Getpid(), Socket: path})
	if err == nil {
		if err = lock.Truncate(0); err == nil {
			_, err = lock.WriteAt(text, 0)
		}
	}
	if err != nil {
		_ = listener.Close()
		_ = os.Remove(path)
		return fmt.Errorf("daemon's lock: %w", err)
	}
	return d.run(ctx)
}

// listen binds the socket. The caller holds daemon.lock, so a socket that is
// there is a dead daemon's.
func listen(place Place) (*net.UnixListener, string, error) {
	path, err := place.socket()
	if err != nil {
		return nil, "", err
	}
	if err := checkSocket(path); err == nil {
		if err := os.Remove(path); err != nil {
			return nil, "", fmt.Errorf("socket: %w", err)
		}
	} else if !errors.Is(err, ErrNone) {
		return nil, "", err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, "", fmt.Errorf("socket: %w", err)
	}
	listener.SetUnlinkOnClose(false) // only the holder of the lock removes it
	if err := os.Chmod(path, 0o600); err != nil {
		_ = listener.Close()
		_ = os.Remove(path)
		return nil, "", fmt.Errorf("socket: %w", err)
	}
	return listener, path, nil
}

type daemon struct {
	Options
	socket   string
	listener *net.UnixListener

	mu      sync.Mutex // guards what follows
	served  int
	idle    *time.Timer
	left    bool
	leaving chan struct{}     // closed when left
	open    map[net.Conn]bool // being greeted; true: waiting for the end
}

// leave begins the end; the first reason is logged.
func (d *daemon) leave(why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.left {
		d.left = true
		d.Log.Info("leaving", "why", why, "clients", d.served)
		close(d.leaving)
	}
}

func (d *daemon) run(ctx context.Context) error {
	serving, stop := context.WithCancel(context.Background())
	defer stop()
	d.open = map[net.Conn]bool{}
	d.idle = time.AfterFunc(max(d.Idle, firstTime), func() {
		d.mu.Lock()
		idle := d.served == 0
		d.mu.Unlock()
		if idle {
			d.leave("idle")
		}
	})
	var clients sync.WaitGroup
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		for {
			conn, err := d.listener.AcceptUnix()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil { // out of descriptors, perhaps: those who are served stay
				d.Log.Error("accept failed", "error", err)
				select {
				case <-d.leaving:
					return
				case <-time.After(100 * time.Millisecond):
				}
				continue
			}
			clients.Go(func() { d.client(serving, conn) })
		}
	}()
	d.Log.Info("ready", "pid", os.Getpid(), "version", d.Release.Version)
	d.Ready()
	select {
	case <-ctx.Done():
		d.leave("signal")
	case <-d.leaving:
	}
	d.idle.Stop()
	// The socket goes first: who finds none waits for the lock.
	removed := os.Remove(d.socket)
	_ = d.listener.Close() // nobody else closes it
	<-accepting
	stop()
	d.mu.Lock()
	for conn, waits := range d.open {
		if !waits {
			_ = conn.Close() // it was promised nothing, and will try again
		}
	}
	d.mu.Unlock()
	done := make(chan struct{})
	go func() { clients.Wait(); close(done) }()
	wait(done, leaveTime)
	closing, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	d.Close(closing)
	if removed != nil {
		d.Log.Warn("the socket was gone", "error", removed)
	}
	return nil
}

func wait(done <-chan struct{}, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// client greets one client and serves it.
func (d *daemon) client(ctx context.Context, conn *net.UnixConn) {
	handed := false
	defer func() {
		if !handed {
			_ = conn.Close() // there is nothing left to say
		}
	}()
	if uid, err := peerUID(conn); !permitted(uid, os.Geteuid(), err) {
		d.Log.Warn("refused a client of another user", "uid", uid, "error", err)
		return
	}
	if !d.hold(conn) {
		return
	}
	var h hello
	_ = conn.SetDeadline(time.Now().Add(greetingTime)) // a broken connection fails at the read
	if err := readLine(conn, &h); err != nil {
		if errors.Is(err, errHello) {
			_ = writeLine(conn, answer{Refused: refusedHello, Status: d.status()})
		}
		d.release(conn)
		return
	}
	refused := d.judge(h)
	if refused != "" {
		d.Log.Warn("refused a client", "why", refused, "wire", h.Wire, "version", h.Version)
	} else if h.Hexapla == toServe {
		d.count(1)
		defer d.count(-1)
	}
	err := writeLine(conn, answer{Refused: refused, Status: d.status()})
	_ = conn.SetDeadline(time.Time{})
	if err != nil || refused != "" {
		d.release(conn)
		return
	}
	switch h.Hexapla {
	case toServe:
		d.release(conn)
		handed = true
		d.Serve(ctx, conn)
	case toDrain:
		handed = true // it ends with the process, so that its end is a sign
		d.mu.Lock()
		d.open[conn] = true
		d.mu.Unlock()
		d.leave("asked to")
	default:
		d.release(conn)
	}
}

// permitted reports whether a process of user uid may speak to one of user self:
// only the same user, and only if the system could say who it is.
func permitted(uid, self int, err error) bool { return err == nil && uid == self }

// hold keeps a connection that is being greeted; false when the daemon leaves.
func (d *daemon) hold(conn net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left {
		return false
	}
	d.open[conn] = false
	return true
}

func (d *daemon) release(conn net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, conn)
}

// judge says why a client is refused; "" when it is not.
func (d *daemon) judge(h hello) string {
	switch {
	case h.Hexapla != toServe && h.Hexapla != toStatus && h.Hexapla != toDrain:
		return refusedHello
	case h.Data != d.Place.id():
		return refusedData
	case h.Hexapla != toServe:
		return ""
	case h.Wire < d.Release.Wire:
		return refusedOlder
	case h.Wire > d.Release.Wire:
		return refusedNewer
	}
	return ""
}

// count keeps the number of clients, and the time without any.
func (d *daemon) count(by int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.served += by
	if d.served == 0 {
		d.idle.Reset(d.Idle)
	}
}

func (d *daemon) status() Status {
	d.mu.Lock()
	served := d.served
	d.mu.Unlock()
	return Status{
		PID: os.Getpid(), Wire: d.Release.Wire, Version: d.Release.Version, Build: d.Release.Build, Socket: d.socket,
		Started: d.Started, Clients: served, Workspaces: d.Workspaces(), Idle: d.Idle.String(),
	}
}
