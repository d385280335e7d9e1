//go:build !break_nofsync

package storage

// skipSync would have commits answered that are in the page cache alone.
const skipSync = false
