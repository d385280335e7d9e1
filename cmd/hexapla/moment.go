package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// momentFlag is a flag that takes a moment of a memory: a sequence number or a
// time in RFC 3339.
type momentFlag struct {
	value any // int64 or string, as packs take it; nil when the flag was not given
}

// Set implements pflag.Value.
func (f *momentFlag) Set(text string) error {
	if seq, err := strconv.ParseInt(text, 10, 64); err == nil {
		if seq <= 0 {
			return errors.New("sequence numbers begin at 1")
		}
		f.value = seq
		return nil
	}
	if _, err := time.Parse(time.RFC3339, text); err != nil {
		return errors.New("must be a sequence number, or a time such as 2026-01-31T12:00:00Z")
	}
	f.value = text
	return nil
}

// String implements pflag.Value.
func (f *momentFlag) String() string {
	if f.value == nil {
		return ""
	}
	return fmt.Sprint(f.value)
}

// Type implements pflag.Value.
func (f *momentFlag) Type() string { return "moment" }
