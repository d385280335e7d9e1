// Package transcript reads recorded sessions of coding assistants: Claude Code
// JSONL and SpecStory Markdown. It yields one neutral sequence of messages,
// whatever the format, in the order in which a client would have sent them.
//
// It guarantees that damaged input never ends a reading early: a torn last
// line, two objects on one line or a line of something else are left out, and
// the Report names file, line and reason. It holds one exchange with the model
// in memory, not the file (a SpecStory file is held whole, up to a limit).
//
// It does not decide what is worth keeping: secrets, costs and recording are
// the business of others. Thinking is handed out apart from the text, because
// clients do not send it again.
package transcript
