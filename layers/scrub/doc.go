// Package scrub finds secrets and personal data in texts and puts placeholders
// in their place, such as [secret:github-pat:7f3a2c] or [pii:card:0b9d41].
//
// Rules say what is found: those of gitleaks, as its library brings them, with
// their entropies and allowlists; our own for what they miss (passwords in URLs
// and settings, headers, cookies, .netrc, flags, tokens in prose); rules, values
// and exceptions of the client; and checks for cards, IBANs, mail addresses, phone
// numbers and IP addresses.
//
// Guarantees:
//
//   - Deterministic: a text gives the same under the same rules and key.
//   - The same value gives the same placeholder, wherever it stands: its digits
//     are an HMAC of the value, so that without the key nobody can confirm a guess,
//     and its label depends on the form of the value alone.
//   - Idempotent: what was scrubbed is left as it is. Placeholders are never
//     scrubbed, and are known by their exact form and label.
//   - Work is linear in the text: one pass for all keywords, and each rule's
//     expression only on bounded windows around its own, merged where they overlap.
//
// It does no I/O, reads no clock, and keeps nothing of what it has seen. It finds
// what has a known form or stands beside a word that says what it is; a bare
// password in a sentence that does not say so is not found. Comments such as
// gitleaks:allow mean nothing to it, because whoever writes a text could write
// them.
package scrub
