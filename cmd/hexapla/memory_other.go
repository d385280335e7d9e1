//go:build !linux

package main

// memoryLimit is known on Linux alone.
func memoryLimit() int64 { return 0 }
