// Package broken tests the tests: for each promise of the store there is a build
// tag that breaks it, and the suite that is to notice must fail under that tag.
// A green run proves something only if a broken program turns it red.
//
// The broken variants are files named …_break.go beside their …_sound.go, which
// a build without tags never compiles: TestDefaultBuildIsSound. The package has
// no code of its own. `make broken` runs it.
package broken
