// Package history shrinks a bare list of messages, as a client would send it to
// a provider: the same scoring and counting as of packs, applied to what was never
// recorded.
//
// It guarantees:
//   - a call of a tool and its result stay together, or go together (a [Unit]),
//     and so does an item of reasoning with what follows it;
//   - system prompts and the newest message stay; what stays keeps its order and
//     its bytes;
//   - every message is named once, as kept or as removed, with why;
//   - what a provider would refuse is not made: results without their call go
//     first, and what is kept begins with the user's words where it has any;
//   - results are pure functions of the messages, the counter and the numbers
//     asked for; of equal scores the newer message stays.
//
// Prune takes time linear in the messages, but for sorting them.
//
// It does not store what was removed and does not know what providers add around
// messages; tokens are those of the texts.
package history
