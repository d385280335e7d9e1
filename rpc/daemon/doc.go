// Package daemon lets the processes of one user share one process that has the
// stores of a data folder open: how it is found, started, greeted, and how it
// leaves.
//
// It guarantees:
//
//   - At most one daemon has a data folder. It holds daemon.lock in that folder
//     for its whole life; only its holder removes or binds the socket. Lock
//     files are never removed.
//   - Who starts daemons at once gets one: looking, starting and waiting until
//     it is ready are done under spawn.lock.
//   - A daemon that was started belongs to no process: it has a session of its
//     own, no parent that could be killed with its children, and none of the
//     descriptors of who started it.
//   - Only processes of the same user are served, by what the system says of the
//     peer. The socket lies in a folder of that user that others cannot enter.
//   - What is in the socket's place and is not the user's own socket is refused
//     and left as it is.
//   - A client and a daemon that do not speak the same wire version part at the
//     greeting. A newer client asks an older daemon to leave and starts its own
//     once the lock is free, so there are never two.
//
// It does not know what is said after the greeting, reads no environment and
// does not end the process. It needs Unix sockets with peer credentials; where
// those are missing every function says ErrUnsupported.
package daemon
