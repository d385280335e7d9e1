package limits

// Retry is how often something is tried that may fail for a moment.
type Retry struct {
	MaxAttempts int // the first one counts
	BaseSeconds int // before the second attempt; doubled for each further one
	MaxSeconds  int // that a wait takes at most
}

// ToolRetry is the policy of one tool.
type ToolRetry struct {
	Tool string
	Retry
}

// Delay returns the seconds to wait before an attempt, 2 being the second, and
// whether it is to be made at all.
func (r Retry) Delay(attempt int) (seconds int, again bool) {
	if attempt > r.MaxAttempts {
		return 0, false
	}
	if attempt < 2 {
		return 0, true
	}
	seconds = r.BaseSeconds
	for range attempt - 2 {
		if seconds >= r.MaxSeconds {
			break
		}
		seconds *= 2
	}
	return min(seconds, r.MaxSeconds), true
}

// RetryOf returns the policy of a tool, the default where it has none.
func (c *Config) RetryOf(tool string) Retry {
	for _, r := range c.RetryPerTool {
		if r.Tool == tool {
			return r.Retry
		}
	}
	return c.Retry
}
