//go:build !amd64

package minilm

// fastKernel returns the quickest kernel of this machine, and whether it is a
// vectorised one.
func fastKernel() (kernel, bool) { return plainKernel, false }
