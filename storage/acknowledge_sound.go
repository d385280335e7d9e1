//go:build !break_ackearly

package storage

// acknowledgeEarly would have writes answered before their commit.
const acknowledgeEarly = false
