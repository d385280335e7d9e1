package contextconfig

import (
	"errors"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"hexapla/layers/limits"
)

// maxEntries bounds lists of settings.
const maxEntries = 200

// copied is a configuration whose lists can be changed.
func copied(c limits.Config) limits.Config {
	c.PerLLM, c.PerAgent = slices.Clone(c.PerLLM), slices.Clone(c.PerAgent)
	c.Chain, c.RetryPerTool = slices.Clone(c.Chain), slices.Clone(c.RetryPerTool)
	return c
}

// document reads the root.
func (r *reader) document(n ast.Node) error {
	return r.object(n, "", field{root, r.context})
}

func (r *reader) context(n ast.Node, key string) error {
	c := &r.config
	var mode string
	err := r.object(n, key,
		field{"min_limit", r.whole(&c.MinLimit)},
		field{"default_limit", r.whole(&c.DefaultLimit)},
		field{"warning_threshold", r.number(&c.WarningThreshold)},
		field{"per_llm", r.perLLM},
		field{"per_agent", r.perAgent},
		field{"breaking_strategy", r.breaking},
		field{"recovery_mode", r.word(&mode, string(limits.FreshStart), string(limits.Truncate), string(limits.Fail))},
		field{"retry_policies", r.retries},
		field{"progress", r.progress},
	)
	if mode != "" {
		c.RecoveryMode = limits.RecoveryMode(mode)
	}
	return err
}

func (r *reader) perLLM(n ast.Node, key string) error {
	return r.list(n, key, maxEntries, func(n ast.Node, key string) error {
		var entry limits.LLMLimit
		if err := r.find(n, key, "type", &entry.Type); err != nil {
			return err
		}
		c := &r.config
		at := slices.IndexFunc(c.PerLLM, func(l limits.LLMLimit) bool { return l.Type == entry.Type })
		if at < 0 {
			entry.Limit = c.DefaultLimit
			at, c.PerLLM = len(c.PerLLM), append(c.PerLLM, entry)
		}
		l := &c.PerLLM[at]
		return r.object(n, key, field{"type", r.name(&entry.Type)}, field{"limit", r.bounded(&l.Limit)},
			field{"follow_default", r.flag(&l.FollowDefault)},
			field{"models", func(n ast.Node, key string) error {
				l.Models = nil
				return r.list(n, key, maxEntries, func(n ast.Node, key string) error {
					var name string
					err := r.name(&name)(n, key)
					l.Models = append(l.Models, name)
					return err
				})
			}})
	})
}

func (r *reader) perAgent(n ast.Node, key string) error {
	return r.list(n, key, maxEntries, func(n ast.Node, key string) error {
		var entry limits.AgentLimit
		if err := r.find(n, key, "agent", &entry.Agent); err != nil {
			return err
		}
		c := &r.config
		at := slices.IndexFunc(c.PerAgent, func(a limits.AgentLimit) bool { return a.Agent == entry.Agent })
		if at < 0 {
			at, c.PerAgent = len(c.PerAgent), append(c.PerAgent, entry)
		}
		a := &c.PerAgent[at]
		return r.object(n, key, field{"agent", r.name(&entry.Agent)}, field{"limit", r.bounded(&a.Limit)}, field{"priority", func(n ast.Node, key string) error {
			if err := r.whole(&a.Priority)(n, key); err != nil {
				return err
			}
			if a.Priority < 1 || a.Priority > limits.MaxPriority {
				return r.at(n, key, "must be 1 to %d", limits.MaxPriority)
			}
			return nil
		}})
	})
}

// bounded reads a limit of a list's entry, whose place in the list of all is not
// that in the document.
func (r *reader) bounded(to *int) func(ast.Node, string) error {
	return func(n ast.Node, key string) error {
		if err := r.whole(to)(n, key); err != nil {
			return err
		}
		if *to < limits.LeastLimit || *to > limits.MaxLimit {
			e := r.at(n, key, "must be %d to %d", limits.LeastLimit, limits.MaxLimit)
			if e.Limit = limits.LeastLimit; *to > limits.LeastLimit {
				e.Limit = limits.MaxLimit
			}
			return e
		}
		return nil
	}
}

// find reads the key that an entry is known by.
func (r *reader) find(n ast.Node, key, name string, to *string) error {
	err := r.each(n, key, func(v *ast.MappingValueNode, is, at string) error {
		if is != name {
			return nil
		}
		return r.name(to)(v.Value, at)
	})
	if err == nil && *to == "" {
		return r.at(n, key, "needs %s", name)
	}
	return err
}

func (r *reader) breaking(n ast.Node, key string) error {
	c := &r.config
	section := func(fields ...field) func(ast.Node, string) error {
		return func(n ast.Node, key string) error { return r.object(n, key, fields...) }
	}
	return r.object(n, key,
		field{"chain_order", r.chain},
		field{string(limits.SummarizeOld), section(field{"old_threshold", r.number(&c.OldThreshold)}, field{"summary_length", r.whole(&c.SummaryLength)},
			field{"min_coherence", r.number(&c.SummaryCoherence)})},
		field{string(limits.PrioritizeRecent), section(field{"rel_threshold", r.number(&c.RelThreshold)}, field{"recent_bias", r.number(&c.RecentBias)},
			field{"priority_boost", r.number(&c.PriorityBoost)})},
		field{string(limits.ContentChunking), section(field{"compress_ratios", section(field{"code", r.number(&c.Ratios.Code)}, field{"text", r.number(&c.Ratios.Text)},
			field{"plan_ref", r.number(&c.Ratios.Plan)}, field{"log", r.number(&c.Ratios.Log)}, field{"other", r.number(&c.Ratios.Other)})})},
		field{string(limits.DiscardLowRel), section(field{"discard_percent", r.number(&c.DiscardPercent)},
			field{"placeholder_detail", r.word(&c.Placeholder, limits.PlaceholderBrief, limits.PlaceholderLinked)}, field{"min_coherence", r.number(&c.DiscardCoherence)})},
		field{string(limits.Hybrid), section(field{"max_iterations", r.whole(&c.MaxIterations)})},
	)
}

func (r *reader) chain(n ast.Node, key string) error {
	var allowed []string
	for _, s := range limits.Strategies() {
		allowed = append(allowed, string(s))
	}
	r.config.Chain = nil
	return r.list(n, key, len(allowed), func(n ast.Node, key string) error {
		var name string
		if err := r.word(&name, allowed...)(n, key); err != nil {
			return err
		}
		if slices.Contains(r.config.Chain, limits.Strategy(name)) {
			return r.at(n, key, "stands there twice")
		}
		r.config.Chain = append(r.config.Chain, limits.Strategy(name))
		return nil
	})
}

func (r *reader) retries(n ast.Node, key string) error {
	c := &r.config
	return r.object(n, key, field{"default", func(n ast.Node, key string) error { return r.retry(n, key, &c.Retry) }},
		field{"per_tool", func(n ast.Node, key string) error {
			return r.each(n, key, func(v *ast.MappingValueNode, name, at string) error {
				i := slices.IndexFunc(c.RetryPerTool, func(t limits.ToolRetry) bool { return t.Tool == name })
				if i < 0 {
					if len(c.RetryPerTool) >= maxEntries {
						return r.at(v.Key, at, "has more than %d entries", maxEntries)
					}
					i, c.RetryPerTool = len(c.RetryPerTool), append(c.RetryPerTool, limits.ToolRetry{Tool: name, Retry: c.Retry})
				}
				return r.retry(v.Value, at, &c.RetryPerTool[i].Retry)
			})
		}})
}

func (r *reader) retry(n ast.Node, key string, to *limits.Retry) error {
	return r.object(n, key, field{"max_attempts", r.whole(&to.MaxAttempts)}, field{"backoff_base_seconds", r.whole(&to.BaseSeconds)},
		field{"max_delay_seconds", r.whole(&to.MaxSeconds)})
}

func (r *reader) progress(n ast.Node, key string) error {
	p := &r.config.Progress
	return r.object(n, key, field{"show", r.flag(&p.Show)}, field{"detail_level", r.word(&p.Detail, limits.DetailMinimal, limits.DetailNormal, limits.DetailDetailed)},
		field{"auto_hide_seconds", r.whole(&p.AutoHideSeconds)}, field{"highlight_p1", r.flag(&p.HighlightP1)})
}

// check puts the place into what the configuration says is out of range.
func (r *reader) check() error {
	err := r.config.Check()
	var bad *limits.SettingError
	if !errors.As(err, &bad) {
		return err
	}
	out := &Error{File: r.file, Key: under(root, bad.Key), Message: bad.Message, Limit: bad.Limit}
	if at := r.places[out.Key]; at != nil {
		out.Line, out.Column = at.Line, at.Column
	}
	return out
}
