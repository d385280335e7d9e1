//go:build unix && !linux

package rpc

// probeProcess asks by signal; the start time is not known.
func probeProcess(pid int) (started string, alive bool) {
	return "", signalProcess(pid)
}
