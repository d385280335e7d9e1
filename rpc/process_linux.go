package rpc

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
)

// probeProcess reads /proc/<pid>/stat: the state, and the start time in ticks
// since boot (fields 3 and 22 in proc(5)).
func probeProcess(pid int) (started string, alive bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		// Without /proc the signal decides; a missing entry is an answer.
		if _, absent := os.Stat("/proc/self/stat"); errors.Is(err, fs.ErrNotExist) && absent == nil {
			return "", false
		}
		return "", signalProcess(pid)
	}
	// The name in field 2 is in parentheses and may hold anything.
	end := bytes.LastIndexByte(stat, ')')
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 20 {
		return "", signalProcess(pid)
	}
	switch fields[0][0] {
	case 'Z', 'X', 'x':
		return "", false
	}
	return string(fields[19]), true
}
