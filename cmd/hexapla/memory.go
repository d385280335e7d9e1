package main

import "runtime/debug"

// memoryShare is how much of a control group's memory the heap may take, in
// percent, before the collector works harder. The rest is for mappings of stores
// and for what the system keeps for the process.
const memoryShare = 80

// limitMemory keeps the process within the memory of its control group, unless the
// user set GOMEMLIMIT.
func (p program) limitMemory() {
	if limit := memoryLimit(); limit > 0 && p.getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 100 * memoryShare)
	}
}
