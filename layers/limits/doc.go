// Package limits keeps a context within the limit of its agent: what the limit is
// ([Config.Limit]), how a list of units is broken down to it step by step
// ([Breaker.Break]), and what is left when no step helps ([Breaker.Recover]).
//
// It guarantees:
//   - units of priority 1 stay to the byte through all strategies; only a recovery
//     may let go of them;
//   - each step is reported with its tokens before and after; one that costs too
//     much of the meaning is taken back, and no step makes a context larger;
//   - every unit is accounted for: kept, compressed, part of a summary, or
//     discarded, and by which strategy; none goes when the target is met already;
//   - code that is compressed is still the same code (layers/minify);
//   - results are pure functions of units, configuration, counter and meaning;
//   - a chain ends: at most as many rounds as are set, and none after one that
//     changed nothing.
//
// It counts with layers.Counter, trims with layers/digest and layers/excerpt, and
// compares texts with the [Meaning] that it is given. It stores nothing, reads no
// settings file and knows no clock.
package limits
