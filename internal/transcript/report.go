package transcript

import (
	"fmt"
	"slices"
	"strings"
)

// maxProblems is how many problems a report lists; the rest is counted.
const maxProblems = 50

// Problem is a place in a file that could not be read.
type Problem struct {
	File   string
	Line   int
	Reason string
}

// String returns the problem as file:line: reason.
func (p Problem) String() string { return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Reason) }

// Count is how often something was left out on purpose.
type Count struct {
	What string
	N    int
}

// Report says what a reading found and what it left out.
type Report struct {
	File        string
	Messages    int // that were handed out
	Prompts     int // user queries among them
	Calls       int // model calls, that is, assistant messages
	Compactions int // summaries with which the client replaced its history
	Rewinds     int // places where the user went back and took another way
	// Problems are places that could not be read, the first 50 in order.
	Problems []Problem
	// MoreProblems is how many were not listed.
	MoreProblems int
	// Skipped is what was left out because it is no part of what was said, by
	// what it is, in alphabetical order.
	Skipped []Count
}

func (r *Report) problem(line int, format string, args ...any) {
	if len(r.Problems) >= maxProblems {
		r.MoreProblems++
		return
	}
	r.Problems = append(r.Problems, Problem{File: r.File, Line: line, Reason: fmt.Sprintf(format, args...)})
}

func (r *Report) skip(what string) {
	i, found := slices.BinarySearchFunc(r.Skipped, what, func(c Count, what string) int { return strings.Compare(c.What, what) })
	if !found {
		r.Skipped = slices.Insert(r.Skipped, i, Count{What: what})
	}
	r.Skipped[i].N++
}

func (r *Report) copy() Report {
	c := *r
	c.Problems = slices.Clone(r.Problems)
	c.Skipped = slices.Clone(r.Skipped)
	return c
}

// LeftOut returns what was left out on purpose in one line, such as
// "12 progress lines, 3 sidechain lines"; "" when nothing was.
func (r Report) LeftOut() string {
	var parts []string
	for _, c := range r.Skipped {
		parts = append(parts, fmt.Sprintf("%d %s", c.N, c.What))
	}
	return strings.Join(parts, ", ")
}
