//go:build !linux

package main

// networkOf is not known here.
func networkOf(string) string { return "" }
