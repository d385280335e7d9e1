//go:build break_nowatermark

package index

// watermarkApart has the watermark written before its documents instead of with
// them: the broken promise by which the tests of a killed indexer are tested.
// See internal/broken.
const watermarkApart = true
