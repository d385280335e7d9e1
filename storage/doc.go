// Package storage is the truth of a workspace: one folder with the file
// store.db (bbolt), the folder blobs (blobs/ab/<sha256>), manifest.json, lock,
// and where there is need snapshots, quarantine and ballast. It keeps versioned
// records under consecutive sequence numbers, ordered lists of them, postings of
// what they mention, blobs by content, counters, derived tables and an audit
// log. It knows nothing of what records mean.
//
// Guarantees:
//
//   - When Write returns without an error, what it wrote is on disk (the data
//     pages are synced, then the page that makes them valid) and survives the
//     death of the process and the loss of power. A Write that failed left
//     nothing behind, unless its error is ErrUnknown.
//   - Writes run one after another in the order of the calls of Write. Each
//     sees all earlier ones, and takes effect as a whole or not at all. A write
//     with a key takes effect once, however often it is sent.
//   - Any past sequence can be read: Snapshot.At gives the records, lists and
//     postings as they were. A view never shows what could still be lost.
//   - What is read is what was written: every value carries a CRC32C, every
//     blob is named by its SHA-256, and both are checked at each read. A damaged
//     record or blob is an error of its own; the rest is served.
//   - One process at a time has a store open. A damaged, cut, foreign or newer
//     store is refused as it is: it is neither repaired nor created anew.
//   - Bytes that are handed out are copies.
//
// bbolt leaves old bytes in free pages. Erase takes what is to go out of every
// file of the folder; Rewrite and Compact write store.db anew; Repair gets a
// damaged store working again, and Examine looks at one.
//
// It does not encrypt, and is not safe on network file systems. Two deadlocks are
// possible by design of bbolt and must be avoided by callers: a goroutine must
// not wait for a Write while it holds a Snapshot, and the build function of a
// Write must not call Write. Snapshots must be short: while one is held, pages
// that it can see are not reused and the file grows.
package storage
