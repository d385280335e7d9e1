package limits

import "hexapla/layers/terms"

// Outcome is what a reward is computed from.
type Outcome struct {
	Success           bool
	UsedRecovery      bool
	CoherenceDelta    float64 // after less before
	TokensReduced     int
	OriginalTokens    int
	Millis            int64
	PriorityPreserved float64 // share of the units of priority 1 that stay, 1 without any
}

// Reward is what a breaking was worth, -2 to 2 (requirement B10).
func (o Outcome) Reward() float64 {
	reward := -1.0
	if o.Success {
		reward = 1 + float64(o.CoherenceDelta*0.5) + float64(o.PriorityPreserved*0.2)
		if o.OriginalTokens > 0 {
			reward += float64(float64(o.TokensReduced) / float64(o.OriginalTokens) * 0.3)
		}
	}
	if o.UsedRecovery {
		reward -= 0.7
	}
	if o.Millis > 500 {
		reward -= float64(float64(o.Millis) / 1000 * 0.1)
	}
	return terms.Round(max(-2, min(2, reward)))
}
