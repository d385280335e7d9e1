package session

import (
	"hexapla/layers"
)

// Instructions is what teaches a model to answer in four parts.
type Instructions struct {
	Text   string
	Tokens int
	Tools  []any // in the provider's form
}

// instructionText goes into the system prompt as it is. It is part of a
// provider's cached prefix: change it seldom.
const instructionText = `# Memory
This workspace has a memory of past conversations. The context above shows what you need most: "Current context" is the story so far, each line under "Earlier conversations" is one conversation (id, time, outcome, topic), "###" lines are turns with their ids. What is shortened or left out is kept and can be asked for.

End every answer with one block like this, after everything the user should read:
` + "```hexapla" + `
{"housekeeping": {
  "llm": {"responseHeader": {"topic": "...", "summary": "at most 12 words", "outcome": "ongoing|completed|error"},
          "contextSummary": "what happened in this conversation, at most 80 words",
          "keyDecisions": ["..."], "codeChanges": [{"files": ["..."], "changeType": "create|modify|delete|refactor", "summary": "..."}],
          "openQuestions": ["..."],
          "currentContext": {"overallNarrative": "...", "currentObjective": "...", "keyAchievements": ["..."], "contextualState": "...", "nextSteps": ["..."]}},
  "user": {"queryHeader": "...", "understoodIntent": "...", "contextUsed": ["ids that helped"]}},
 "contextRequests": {"retrieveConversations": [{"conversationIds": ["c12", "c12#3"], "format": "header|summary|full|mixed"}],
                     "summarizeTopics": ["..."], "archiveConversations": ["ids no longer needed"]}}
` + "```" + `
Give only members that say something new; leave out contextRequests unless you need something. Say only what the conversation shows: copy paths, names and numbers exactly. Ask for "summary" before "full"; at most three fulls a turn are served, in the next message.
`

// instructionsFor returns the instructions in a provider's form: the text for
// "text", and for a provider the tools that do the same by calls.
func instructionsFor(format string, counter layers.Counter) (Instructions, error) {
	out := Instructions{Text: instructionText, Tokens: counter.Count(instructionText), Tools: []any{}}
	tools := []struct {
		name, about string
		schema      map[string]any
	}{
		{"hexapla_housekeeping", "Report what this turn was about, what was decided and changed, and the story so far.", housekeepingSchema()},
		{"hexapla_context", "Ask for past conversations by id or by relevance, for summaries of topics, or let conversations go.", requestsSchema()},
	}
	switch format {
	case "", "text":
		return out, nil
	case "anthropic":
		for _, t := range tools {
			out.Tools = append(out.Tools, map[string]any{"name": t.name, "description": t.about, "input_schema": t.schema})
		}
	case "openai":
		for _, t := range tools {
			out.Tools = append(out.Tools, map[string]any{"type": "function", "function": map[string]any{
				"name": t.name, "description": t.about, "parameters": t.schema,
			}})
		}
	case "gemini":
		var declarations []any
		for _, t := range tools {
			declarations = append(declarations, map[string]any{"name": t.name, "description": t.about, "parameters": t.schema})
		}
		out.Tools = append(out.Tools, map[string]any{"functionDeclarations": declarations})
	default:
		return out, invalid("format", `must be "text", "anthropic", "openai" or "gemini"`)
	}
	return out, nil
}

// Instructions returns the instructions in a form, counted for a model.
func (s *Service) Instructions(format, model string) (Instructions, error) {
	return instructionsFor(format, s.tokens.ForModel(model))
}

func object(properties map[string]any) map[string]any {
	return map[string]any{"type": "object", "properties": properties}
}

func text(about string) map[string]any { return map[string]any{"type": "string", "description": about} }

func texts(about string) map[string]any {
	return map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "description": about}
}

func oneOf(values ...any) map[string]any { return map[string]any{"type": "string", "enum": values} }

func listOf(item map[string]any) map[string]any {
	return map[string]any{"type": "array", "items": item}
}

func housekeepingSchema() map[string]any {
	return object(map[string]any{
		"llm": object(map[string]any{
			"responseHeader": object(map[string]any{
				"topic": text("what the conversation is about"), "summary": text("at most 12 words"),
				"keyEntities": texts("files, functions and concepts"), "outcome": oneOf("ongoing", "completed", "error"),
			}),
			"contextSummary": text("what happened in this conversation, at most 80 words"),
			"keyDecisions":   texts("decisions taken"),
			"codeChanges": listOf(object(map[string]any{
				"files": texts("paths"), "changeType": oneOf("create", "modify", "delete", "refactor"),
				"summary": text("what changed"), "impact": oneOf("low", "medium", "high"),
			})),
			"openQuestions": texts("what is still open"),
			"currentContext": object(map[string]any{
				"overallNarrative": text("the story so far"), "currentObjective": text("what is being worked on now"),
				"keyAchievements": texts("milestones reached"), "contextualState": text("where in the journey we are"),
				"nextSteps": texts("what is likely to come"),
			}),
		}),
		"user": object(map[string]any{
			"queryHeader": text("the user's query in one line"), "understoodIntent": text("what the user wants"),
			"contextUsed": texts("ids of conversations that were of use"),
		}),
	})
}

func requestsSchema() map[string]any {
	return object(map[string]any{
		"retrieveConversations": listOf(object(map[string]any{
			"conversationIds": texts(`ids such as "c12", or "c12#3" for one turn`),
			"format":          oneOf("header", "summary", "full", "mixed"),
			"priority":        oneOf("specific", "recent", "relevant"),
			"query":           text("what it should be relevant to"),
		})),
		"summarizeTopics":      texts("topics to be summed up"),
		"archiveConversations": texts("ids that are no longer needed"),
	})
}
