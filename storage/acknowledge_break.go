//go:build break_ackearly

package storage

// acknowledgeEarly has writes answered before their commit: the broken promise
// by which the tests of killed processes are tested. See internal/broken.
const acknowledgeEarly = true
