package main

import (
	"os"
	"testing"
)

// asProgram makes the test binary run as the program itself. Tests start
// os.Executable() with it to have a real server without building one.
const asProgram = "HEXAPLA_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "1" {
		main()
	}
	os.Exit(m.Run())
}
