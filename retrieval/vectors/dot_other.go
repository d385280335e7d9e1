//go:build !amd64

package vectors

// quick tells whether dotBytes can be used.
func quick() bool { return false }

// dotBytes is never called.
func dotBytes(_, _ *byte, _ int) int32 { return 0 }
