package session

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"hexapla/internal/billing"
	"hexapla/layers/iceberg"
	"hexapla/storage"
)

// BudgetLimits bound what sessions, and users in a month, may use, as far as
// budget/report tells it. 0 means no bound.
type BudgetLimits struct {
	SessionTokens   int64 `json:"sessionTokens"`
	SessionMicroUSD int64 `json:"sessionMicroUSD"` // millionths of a US dollar
	MonthlyTokens   int64 `json:"monthlyTokens"`   // of a user
	MonthlyMicroUSD int64 `json:"monthlyMicroUSD"`
}

// mostBudget bounds each limit: a thousand million dollars.
const mostBudget = 1e15

// ParseBudgetLimits reads the members that are given. A number that is out of
// range gives an *InvalidError.
func ParseBudgetLimits(data []byte) (BudgetLimits, error) {
	var l BudgetLimits
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&l); err != nil {
		return l, fmt.Errorf("budget: %w", err)
	}
	for _, c := range []struct {
		name  string
		value int64
	}{
		{"sessionTokens", l.SessionTokens}, {"sessionMicroUSD", l.SessionMicroUSD},
		{"monthlyTokens", l.MonthlyTokens}, {"monthlyMicroUSD", l.MonthlyMicroUSD},
	} {
		if c.value < 0 || c.value > mostBudget {
			return l, &InvalidError{Path: "budget." + c.name, Message: fmt.Sprintf("is %d, must be from 0 to %d", c.value, int64(mostBudget)), Limit: mostBudget}
		}
	}
	return l, nil
}

// maxUserBytes bounds the name of a user.
const maxUserBytes = 256

// userKey is the purpose of the store's key that users are known by, so that the
// id of a record does not tell a name.
const userKey = "user"

// spentRecord is the body of a record of what was used: by a session, or by a user
// in a month.
type spentRecord struct {
	User     string `json:"user,omitempty"`
	Month    string `json:"month,omitempty"` // such as "2026-11", of UTC
	Reports  int64  `json:"reports"`
	Input    int64  `json:"input"`  // tokens, cached ones too
	Output   int64  `json:"output"` // tokens
	MicroUSD int64  `json:"microUSD"`
	// Unpriced is how many reports were of models that are not in the table, and
	// were priced as the default.
	Unpriced int64 `json:"unpriced,omitempty"`
}

// Spent is what was used.
type Spent struct {
	spentRecord
}

// Tokens is input and output together.
func (s spentRecord) Tokens() int64 { return s.Input + s.Output }

func checkUser(user string) error {
	if len(user) > maxUserBytes {
		return &InvalidError{Path: "user", Message: "too long", Limit: maxUserBytes}
	}
	return nil
}

// monthOf is the month of a time in Unix milliseconds, by UTC.
func monthOf(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01") }

func spentOfSession(session string) string { return "session:" + session }

func (ws *Workspace) spentOfMonth(user, month string) string {
	h := hmac.New(sha256.New, ws.store.Key(userKey))
	h.Write([]byte(user))
	return "month:" + month + ":" + hex.EncodeToString(h.Sum(nil)[:8])
}

// priceOf is what a prompt and its answer cost, in millionths of a dollar, and
// whether the model's prices are known.
func (ws *Workspace) priceOf(req *UsageReport) (micros int64, known bool) {
	model, known := ws.opts.Models.Lookup(req.Model)
	charge := billing.Charge{
		Plain: int64(req.PromptTokens - req.CacheWriteTokens - req.CacheReadTokens), Write: int64(req.CacheWriteTokens), Read: int64(req.CacheReadTokens),
	}
	// Dollars for a million tokens are millionths of a dollar for one.
	return int64(math.Round(charge.Dollars(model.Prices)*1e6 + float64(req.OutputTokens)*model.Prices.Output)), known
}

// spend adds a report to what its session and its user used.
func (s *Session) spend(tx *storage.Tx, req *UsageReport) (micros int64, err error) {
	ws := s.Workspace
	micros, known := ws.priceOf(req)
	month := monthOf(ws.opts.Now())
	for _, to := range []struct {
		id   string
		body spentRecord
	}{
		{spentOfSession(s.ID), spentRecord{}},
		{ws.spentOfMonth(req.User, month), spentRecord{User: req.User, Month: month}},
	} {
		body, _, ok, err := latest[spentRecord](tx.View(), kindSpent, to.id)
		if err != nil {
			return 0, err
		}
		if !ok {
			body = to.body
		}
		body.Reports++
		body.Input += int64(req.PromptTokens)
		body.Output += int64(req.OutputTokens)
		body.MicroUSD += micros
		if !known {
			body.Unpriced++
		}
		tx.Put(storage.Draft{Kind: kindSpent, ID: to.id, Parent: s.ID, Body: encode(body)})
	}
	return micros, nil
}

// Scope is what a limit is on.
type Scope string

// Scopes of limits.
const (
	ScopeSession Scope = "session"
	ScopeMonth   Scope = "month" // of a user
)

// BudgetUnit is what a limit counts.
type BudgetUnit string

// Units of limits.
const (
	BudgetTokens   BudgetUnit = "tokens"
	BudgetMicroUSD BudgetUnit = "microUSD"
)

// BudgetUse is how much of a limit is used.
type BudgetUse struct {
	Scope Scope      `json:"scope"`
	Unit  BudgetUnit `json:"unit"`
	Used  int64      `json:"used"`
	Limit int64      `json:"limit"`
	Left  float64    `json:"left"` // percent
}

// BudgetStatus is what was used, and what is left.
type BudgetStatus struct {
	Session  Spent
	Month    Spent
	Limits   []BudgetUse // those that are set
	Binding  *BudgetUse  // with the least left, the first of several; nil without limits
	Left     float64     // percent that is left of it; 100 without limits
	Exceeded bool        // nothing is left
	Range    string      // of the rule in force
	Rule     iceberg.Rule
	Sequence int64
}

// Budget tells what a session and a user in a month used, and which limit binds.
// The month of the clock is meant without one.
func (s *Session) Budget(user, month string) (status BudgetStatus, err error) {
	if err := checkUser(user); err != nil {
		return status, err
	}
	if month != "" {
		if _, err := time.Parse("2006-01", month); err != nil || !strings.HasPrefix(month, "2") {
			return status, invalid("month", "must be a month such as \"2026-11\"")
		}
	}
	err = s.Workspace.view(0, func(v storage.View) error {
		status, err = s.budgetAt(v, user, month)
		return err
	})
	return status, err
}

func (s *Session) budgetAt(v storage.View, user, month string) (status BudgetStatus, err error) {
	ws, limits := s.Workspace, s.service.client.Budget
	month = either(month, monthOf(ws.opts.Now()))
	status = BudgetStatus{Left: 100, Sequence: v.Seq()}
	if status.Session.spentRecord, _, _, err = latest[spentRecord](v, kindSpent, spentOfSession(s.ID)); err != nil {
		return status, err
	}
	if status.Month.spentRecord, _, _, err = latest[spentRecord](v, kindSpent, ws.spentOfMonth(user, month)); err != nil {
		return status, err
	}
	status.Month.User, status.Month.Month = user, month
	for _, use := range []BudgetUse{
		{ScopeSession, BudgetTokens, status.Session.Tokens(), limits.SessionTokens, 0},
		{ScopeSession, BudgetMicroUSD, status.Session.MicroUSD, limits.SessionMicroUSD, 0},
		{ScopeMonth, BudgetTokens, status.Month.Tokens(), limits.MonthlyTokens, 0},
		{ScopeMonth, BudgetMicroUSD, status.Month.MicroUSD, limits.MonthlyMicroUSD, 0},
	} {
		if use.Limit == 0 {
			continue
		}
		use.Left = iceberg.Left(use.Used, use.Limit)
		status.Limits = append(status.Limits, use)
		if status.Binding == nil || use.Left < status.Left {
			binding := use
			status.Binding, status.Left = &binding, use.Left
		}
	}
	status.Exceeded = status.Left == 0
	status.Rule, status.Range = s.service.client.Tiers.Of(status.Left)
	return status, nil
}
