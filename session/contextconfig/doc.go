// Package contextconfig reads what is set about limits (seed 003's context_config)
// from YAML: a file of the user, one of the workspace, and what the client sets, in
// that order. What comes later counts, key by key; entries of lists are known by
// their type, agent or tool.
//
// It guarantees:
//   - a document is taken as a whole or not at all, and an error names file, line,
//     column and key;
//   - what nobody knows is an error, and so are anchors, aliases, tags, keys that
//     stand there twice, and documents that are too large or too deep, before
//     anything is made of them;
//   - a file that has become wrong does not take back what it said before;
//   - a workspace's file can set limits and nothing else: it is opened only where
//     it is a plain file, and never followed.
//
// Settings are read again when their file has changed, at the next use. Nothing is
// written, and nothing watches in the background.
package contextconfig
