package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// columns returns the width of the terminal that w is, 0 when it is none.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

// progress shows one line that changes, on a terminal; elsewhere nothing.
type progress struct {
	out   io.Writer
	width int
	shown int // length of the line on the screen
}

func newProgress(p program) *progress { return &progress{out: p.errs, width: p.columns(p.errs)} }

// show replaces the line.
func (p *progress) show(format string, args ...any) {
	if p.width == 0 {
		return
	}
	line := fmt.Sprintf(format, args...)
	if len(line) >= p.width {
		line = line[:p.width-1]
	}
	fmt.Fprintf(p.out, "\r%s%s", line, strings.Repeat(" ", max(0, p.shown-len(line))))
	p.shown = len(line)
}

// clear takes the line away.
func (p *progress) clear() {
	if p.width > 0 && p.shown > 0 {
		fmt.Fprintf(p.out, "\r%s\r", strings.Repeat(" ", p.shown))
		p.shown = 0
	}
}
