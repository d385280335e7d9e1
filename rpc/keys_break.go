//go:build break_nokeys

package rpc

// dropKeys has writes that came without a key sent without one, also when they
// are sent again: the broken promise by which the tests of a killed daemon are
// tested. See internal/broken.
const dropKeys = true
