// Package answer reads what a model answered: text with blocks of housekeeping
// and context requests in it, or a provider's message with tool calls. It also
// holds what a model is told of how to answer.
//
// Models make a mess of JSON. Whatever is usable is used, the rest is reported;
// nothing is completed or guessed: a string, number or name that the text breaks
// off in is left out. Only what was read, and the marks around it, leave the
// content that the user sees. All work is linear in the size of the answer.
package answer
