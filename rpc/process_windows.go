package rpc

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/windows"
)

// probeProcess opens the process; its creation time tells it from another with
// the same id.
func probeProcess(pid int) (started string, alive bool) {
	const access = windows.PROCESS_QUERY_LIMITED_INFORMATION | windows.SYNCHRONIZE
	process, err := windows.OpenProcess(access, false, uint32(pid))
	if err != nil {
		return "", false
	}
	defer windows.CloseHandle(process)
	if event, err := windows.WaitForSingleObject(process, 0); err != nil || event == windows.WAIT_OBJECT_0 {
		return "", false
	}
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(process, &created, &exited, &kernel, &user); err != nil {
		return "", true
	}
	return strconv.FormatInt(created.Nanoseconds(), 10), true
}

// ClaimStdout returns standard output and makes standard error what everything
// else in the process takes for it: a stray print of a dependency cannot break
// the protocol. It is for main, once, before anything is written.
func ClaimStdout() (*os.File, error) {
	private := os.Stdout
	if err := windows.SetStdHandle(windows.STD_OUTPUT_HANDLE, windows.Handle(os.Stderr.Fd())); err != nil {
		return nil, fmt.Errorf("claim stdout: %w", err)
	}
	os.Stdout = os.Stderr
	return private, nil
}
