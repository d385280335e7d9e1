//go:build !break_nokeys

package rpc

// dropKeys would have writes sent again without a key.
const dropKeys = false
