package contextconfig

import "os"

// open opens a file; links are caught by comparing it with what was looked at.
func open(path string) (*os.File, error) { return os.Open(path) }
