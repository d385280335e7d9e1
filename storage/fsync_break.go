//go:build break_nofsync

package storage

// skipSync has commits answered that are in the page cache alone: the broken
// promise by which the tests of power loss are tested. See internal/broken.
const skipSync = true
