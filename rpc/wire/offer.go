package wire

// Offer is what a server offers under experimental.hexapla of its
// capabilities, in the result of initialize.
type Offer struct {
	// Rises when a client for the version before would break.
	ProtocolVersion int `json:"protocolVersion"`
	// Requests that are served.
	Methods []string `json:"methods"`
	// Notifications that may be sent.
	Events []string `json:"events"`
}
