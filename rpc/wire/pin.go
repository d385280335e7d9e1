package wire

// Pin is a text that is in every pack.
type Pin struct {
	// The pin's id.
	ID string `json:"id"`
	// The text.
	Text string `json:"text"`
	// What it takes in a pack, with its heading, by the session's model.
	Tokens int `json:"tokens"`
}

// PinAddParams pins a text.
type PinAddParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// At most 8 KiB. A text that is pinned already keeps its pin; a workspace has
	// at most 50.
	Text string `json:"text"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// PinAddResult is the pin.
type PinAddResult struct {
	// The pin.
	Pin Pin `json:"pin"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
	// What was replaced in the parameters, by family: secrets and personal data.
	Scrubbed map[string]int `json:"scrubbed,omitempty"`
}

// PinRemoveParams names a pin.
type PinRemoveParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// The pin's id.
	Pin string `json:"pin"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// PinRemoveResult is the pin that was taken away. Packs of the past keep it.
type PinRemoveResult struct {
	// The pin.
	Pin Pin `json:"pin"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
}

// PinListParams asks for the pins.
type PinListParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
}

// PinListResult lists pins.
type PinListResult struct {
	// The pins, oldest first.
	Pins []Pin `json:"pins"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
}
