// Package rendering writes a pack as the part of a model request that carries
// context: system prompt and messages in the shape of a provider's interface.
//
// A pack is a narrated text; a request has messages with roles. The system
// branch becomes the system prompt; the context branch one message of the user;
// the input branch the end of what the user says. Where a provider has text
// blocks, each item of the pack is one, but for headers and summaries, of which
// each section is one; so the blocks of a pack that only grew begin with those
// of the pack before, and a cache that goes by blocks finds them.
//
// One exchange is given in the provider's own shape for tools: if the newest
// answer of the conversation in progress made calls, the input holds the result
// of each, and the pack shows the calls whole and the results in full, then the
// answer becomes a message of the assistant with its calls, and the results
// follow. What the pack has between the two (answers to context requests, a
// newer layer 0) then comes before the answer. In all other cases calls and
// results are text like the rest.
//
// It guarantees: the same pack gives the same bytes, canonical JSON; each text
// of the pack is in the body once and nothing else is; no call without its
// result, no result without its call; no empty text; the first message is the
// user's, and for providers that ask for it no two messages in a row have one
// role.
//
// It does not add what the caller has to add to a request: model, tool
// definitions, settings, room for the answer. It does not know a model's
// reasoning, which is not recorded; where a provider wants it back with a call
// (Anthropic's thinking blocks, thoughtSignature of Gemini 3), the caller adds
// it to the one message of the assistant. It does not count what a provider puts
// around texts, but for an estimate where the provider has published a rule.
package rendering
