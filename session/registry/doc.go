// Package registry keeps which workspace the memory of a folder is in: the file
// workspaces.json of a data folder, with the names, the identity (device, inode,
// time of birth) and the last opening of each.
//
// Guarantees:
//
//   - Every way to one folder leads to one workspace: links, mounts, spellings
//     that the volume takes for the same. The folder's identity decides, and where
//     there is no folder or no identity its canonical URI does.
//   - Two folders never share a workspace unless Adopt said so. A folder that was
//     renamed keeps its workspace; another folder under a known name gets a new
//     one, and the workspace that the name meant before is proposed.
//   - A store that was there before the registry keeps its id. Without the file,
//     ids are what they were.
//   - The file is replaced as a whole, under a lock that processes share. One that
//     cannot be read is put aside; one that cannot be written costs the memory of
//     moves and nothing else.
//
// It looks at root folders with stat and reads nothing in them. Identities that
// were noted on another disk count for nothing: a copied data folder learns them
// anew.
package registry
