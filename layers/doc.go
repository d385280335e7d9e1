// Package layers is the vocabulary and the arithmetic of a workspace's memory:
// the six layers, the conversation with its trio (header, summary, full text),
// the token budget, and the pack that is built from them.
//
// It guarantees that everything it computes is a pure function of its
// arguments: the same units and the same parameters give the same bytes.
//
// It does no I/O, reads no clock and ranges over no map (a test in cmd/hexapla
// checks this), and it knows neither the store nor the wire.
package layers
