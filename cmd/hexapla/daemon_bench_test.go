//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// benchPost is a place with the program as it is built for users.
func benchPost(b *testing.B) *post {
	b.Helper()
	p := newPost(b)
	p.binary = filepath.Join(p.run, "hexapla")
	if out, err := exec.Command("go", "build", "-o", p.binary, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return p
}

// BenchmarkForwarder measures requests with the stores in the process that the
// client started (off) and through a forwarder in the daemon (on).
func BenchmarkForwarder(b *testing.B) {
	for _, mode := range []string{daemonOff, daemonOn} {
		b.Run(mode, func(b *testing.B) {
			p := benchPost(b)
			w := p.open(sharedWorkspace, "s", "--daemon="+mode)
			for n := range 50 {
				w.mustRecord(item(1, n) + " " + strings.Repeat("the parser loses its last record ", 200))
			}
			ask := func(name, method string, params any) {
				b.Run(name, func(b *testing.B) {
					for b.Loop() {
						if err := w.Call(b.Context(), method, params, nil); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
			ask("list", wire.MethodPinList, wire.PinListParams{Session: "s"})
			ask("get20KB", wire.MethodConversationGet, wire.ConversationGetParams{Session: "s", Conversation: "c1"})
			ask("pack", wire.MethodPackBuild, wire.PackBuildParams{Session: "s", Budget: wire.Budget{Total: 8000}})
			ask("record1KB", wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "s", Done: true, Turns: []wire.Turn{{Role: "user", Text: strings.Repeat("some words ", 90)}}})
			b.Logf("resident: %s, after all of that, %d KiB", mode, residentKiB(b, w.cmd.Process.Pid))
			w.leave()
			fresh := p.open(sharedWorkspace, "s", "--daemon="+mode)
			b.Logf("resident: %s, after session/open, %d KiB", mode, residentKiB(b, fresh.cmd.Process.Pid))
			fresh.leave()
		})
	}
}

func residentKiB(b *testing.B, pid int) (kib int) {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "Rss:")
	if _, err := fmt.Sscan(after, &kib); err != nil {
		b.Fatal(err)
	}
	return kib
}

// BenchmarkServeStart measures the time from the start of a process until
// initialize is answered: in that process, through a daemon that runs, and
// through one that has to be started.
func BenchmarkServeStart(b *testing.B) {
	start := func(b *testing.B, p *post, mode string) *window {
		w := p.start("--daemon=" + mode)
		if _, err := w.Initialize(b.Context(), rpc.InitializeParams{}); err != nil {
			b.Fatal(err)
		}
		return w
	}
	for _, c := range []struct{ name, mode string }{{"alone", daemonOff}, {"warm", daemonOn}, {"cold", daemonOn}} {
		b.Run(c.name, func(b *testing.B) {
			p := benchPost(b)
			if c.name == "warm" {
				defer start(b, p, c.mode).leave()
			}
			for b.Loop() {
				w := start(b, p, c.mode)
				b.StopTimer()
				w.leave()
				if c.name == "cold" {
					p.end()
				}
				b.StartTimer()
			}
		})
	}
}
