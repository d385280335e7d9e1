package vectors

import "golang.org/x/sys/cpu"

// quick tells whether dotBytes can be used.
func quick() bool { return cpu.X86.HasAVX2 }

// dotBytes is plainDot of n numbers, a multiple of dotStep.
//
//go:noescape
func dotBytes(a, b *byte, n int) int32
