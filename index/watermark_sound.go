//go:build !break_nowatermark

package index

// watermarkApart would have the watermark written before its documents instead
// of with them.
const watermarkApart = false
