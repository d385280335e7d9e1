package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// memoryLimit returns how many bytes the process's control group may use; 0 when
// there is no limit. Both versions of control groups are read, the process's own
// group and those above it.
func memoryLimit() int64 { return memoryLimitUnder("/sys/fs/cgroup", "/proc/self/cgroup") }

func memoryLimitUnder(mount, self string) (limit int64) {
	raw, err := os.ReadFile(self)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		// hierarchy:controllers:path
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, ok := strings.Cut(rest, ":")
		if !ok {
			continue
		}
		base, file := mount, "memory.max"
		if controllers != "" {
			if controllers != "memory" {
				continue
			}
			base, file = filepath.Join(mount, "memory"), "memory.limit_in_bytes"
		}
		for ; ; group = filepath.Dir(group) {
			// A container sees its own group as the root of the mount.
			text, err := os.ReadFile(filepath.Join(base, group, file))
			if n, parseErr := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && parseErr == nil && n > 0 && (limit == 0 || n < limit) {
				limit = n
			}
			if group == "/" || group == "." || group == "" {
				break
			}
		}
	}
	if limit >= 1<<60 { // how version 1 says that there is none
		return 0
	}
	return limit
}
