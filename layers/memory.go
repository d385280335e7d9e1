package layers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// ItemType says what a memory item is (T1). The names are on disk.
type ItemType string

// Types of memory items.
const (
	ItemTask       ItemType = "TASK"
	ItemCode       ItemType = "CODE"
	ItemError      ItemType = "ERROR"
	ItemTestResult ItemType = "TEST_RESULT"
	ItemPRDSection ItemType = "PRD_SECTION"
)

// ItemTypes lists all types.
func ItemTypes() []ItemType {
	return []ItemType{ItemTask, ItemCode, ItemError, ItemTestResult, ItemPRDSection}
}

// Tier says which memory items are loaded (T3). The names are on disk.
type Tier string

// Tiers of memory items.
const (
	TierHot  Tier = "HOT"  // loaded by default, and in packs
	TierWarm Tier = "WARM" // loaded on demand
	TierCold Tier = "COLD" // archived by a flash save
)

// Tiers lists all tiers, the most important first.
func Tiers() []Tier { return []Tier{TierHot, TierWarm, TierCold} }

// MemoryPolicy are the settings of memory items (T2, T3).
type MemoryPolicy struct {
	// Weights of the types, in percent.
	Weights MemoryWeights `json:"weights"`
	// DecayHours is the time in which importance falls to 1/e.
	DecayHours int `json:"decayHours"`
	// An item of at least HotPercent importance is HOT, of at least WarmPercent
	// WARM, and COLD below.
	HotPercent  int `json:"hotPercent"`
	WarmPercent int `json:"warmPercent"`
	// SharePercent is what HOT items may take of a pack's context.
	SharePercent int `json:"sharePercent"`
	// FlashPercent is how full of its limit an agent's context is when a flash
	// save is due (T4).
	FlashPercent int `json:"flashPercent"`
	// AutoFlash has a pack that is so full save by itself.
	AutoFlash bool `json:"autoFlash"`
}

// MemoryWeights are the weights of the types of items, in percent.
type MemoryWeights struct {
	Task       int `json:"task"`
	Code       int `json:"code"`
	Error      int `json:"error"`
	TestResult int `json:"testResult"`
	PRDSection int `json:"prdSection"`
}

// DefaultMemoryPolicy returns the settings that are in force when nothing is set.
// Thresholds and the 80 % of a flash save are the specification's. The weights
// make a task HOT for some 37 hours, and code for as long as it is used.
func DefaultMemoryPolicy() MemoryPolicy {
	return MemoryPolicy{
		Weights:    MemoryWeights{Task: 100, Code: 80, Error: 90, TestResult: 60, PRDSection: 85},
		DecayHours: 7 * 24, HotPercent: 80, WarmPercent: 40, SharePercent: 10, FlashPercent: 80, AutoFlash: true,
	}
}

// Weight returns the weight of a type, in percent; false for what is no type.
func (p MemoryPolicy) Weight(t ItemType) (int, bool) {
	switch t {
	case ItemTask:
		return p.Weights.Task, true
	case ItemCode:
		return p.Weights.Code, true
	case ItemError:
		return p.Weights.Error, true
	case ItemTestResult:
		return p.Weights.TestResult, true
	case ItemPRDSection:
		return p.Weights.PRDSection, true
	}
	return 0, false
}

// Importance is the type's weight × exp(-age / decay) × (1 + ln(uses+1) / 10),
// between 0 and 1 and rounded to thousandths, so that it is the same on every
// machine. A negative age, of a clock that went back, counts as 0.
func (p MemoryPolicy) Importance(t ItemType, age time.Duration, uses int) float64 {
	weight, _ := p.Weight(t)
	decay := math.Exp(-max(age.Hours(), 0) / float64(p.DecayHours))
	boost := 1 + math.Log(float64(max(uses, 0))+1)/10
	return math.Round(min(max(float64(weight)/100*decay*boost, 0), 1)*1000) / 1000
}

// TierOf returns the tier of an importance.
func (p MemoryPolicy) TierOf(importance float64) Tier {
	switch thousandths := int(math.Round(importance * 1000)); {
	case thousandths >= p.HotPercent*10:
		return TierHot
	case thousandths >= p.WarmPercent*10:
		return TierWarm
	}
	return TierCold
}

// ParseMemoryPolicy reads settings: JSON with the members to be changed from a
// default. An unknown member, a wrong type and a number out of range are errors
// that name the member.
func ParseMemoryPolicy(data []byte, from MemoryPolicy) (MemoryPolicy, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&from); err != nil {
		return from, fmt.Errorf("memory: %w", err)
	}
	return from, from.Check()
}

// Check returns an error that names the first number that is out of range: a
// *LimitError, if it is one number.
func (p MemoryPolicy) Check() error {
	err := checkLimits("memory.", []limit{
		{"weights.task", p.Weights.Task, 0, 100}, {"weights.code", p.Weights.Code, 0, 100}, {"weights.error", p.Weights.Error, 0, 100},
		{"weights.testResult", p.Weights.TestResult, 0, 100}, {"weights.prdSection", p.Weights.PRDSection, 0, 100},
		{"decayHours", p.DecayHours, 1, 24 * 3650}, {"hotPercent", p.HotPercent, 1, 100}, {"warmPercent", p.WarmPercent, 0, 100},
		{"sharePercent", p.SharePercent, 0, 50}, {"flashPercent", p.FlashPercent, 1, 100},
	})
	if err == nil && p.WarmPercent > p.HotPercent {
		err = fmt.Errorf("memory: warmPercent is %d, must be at most hotPercent, which is %d", p.WarmPercent, p.HotPercent)
	}
	return err
}
