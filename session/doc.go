// Package session holds the state of workspaces and of the sessions in them:
// it records conversations, keeps their trio and layer 0, answers context
// requests and builds packs.
//
// It guarantees that a reply to a write is given after the write is on disk,
// that a repeated key gives the first reply, and that a pack is a function of
// the workspace at a sequence, the parameters and the policy.
//
// It knows no JSON-RPC and calls no model. The only clock it reads is the one
// it is given, for what it reports and for audit entries; nothing in a pack
// depends on it.
package session
