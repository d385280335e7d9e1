package rpc

import "time"

// Limits bound what a client can make the server hold. A zero field takes the
// default.
type Limits struct {
	HeaderBytes    int   // of one header block; 8 KiB
	HeaderLines    int   // of one header block; 32
	SoftFrame      int64 // larger bodies are read, thrown away and refused; 64 MiB
	HardFrame      int64 // larger bodies end the connection; 1 GiB
	Resync         int   // bytes to search for the next header; 64 KiB
	BatchMembers   int   // 100
	Depth          int   // nesting of parameters; 256
	InFlight       int   // requests that run; 64
	Queued         int   // requests that wait; 256
	RequestBytes   int64 // parameters of all those requests; 256 MiB
	OutboxMessages int   // messages to be written; 256
	OutboxBytes    int64 // bytes to be written; 32 MiB
}

// Timeouts bound how long the server waits. A zero field takes the default.
type Timeouts struct {
	Frame   time.Duration // from the first byte of a frame to the last; 60 s
	Write   time.Duration // for one write to go through; 30 s
	Drain   time.Duration // for requests that run when the input ends; 600 ms
	Grace   time.Duration // for requests that run at exit or a signal; 80 ms
	Close   time.Duration // for the output's rest and the backend's Close; 300 ms
	Process time.Duration // between looks at the client's process; 3 s
}

func (l Limits) withDefaults() Limits {
	orElse(&l.HeaderBytes, 8<<10)
	orElse(&l.HeaderLines, 32)
	orElse(&l.SoftFrame, 64<<20)
	orElse(&l.HardFrame, 1<<30)
	orElse(&l.Resync, 64<<10)
	orElse(&l.BatchMembers, 100)
	orElse(&l.Depth, 256)
	orElse(&l.InFlight, 64)
	orElse(&l.Queued, 256)
	orElse(&l.RequestBytes, 256<<20)
	orElse(&l.OutboxMessages, 256)
	orElse(&l.OutboxBytes, 32<<20)
	return l
}

func (t Timeouts) withDefaults() Timeouts {
	orElse(&t.Frame, 60*time.Second)
	orElse(&t.Write, 30*time.Second)
	orElse(&t.Drain, 600*time.Millisecond)
	orElse(&t.Grace, 80*time.Millisecond)
	orElse(&t.Close, 300*time.Millisecond)
	orElse(&t.Process, 3*time.Second)
	return t
}

func orElse[T ~int | ~int64](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}
