package answer

// Instructions returns what a model is told of how to answer: by blocks in its
// text, or by calls of the two tools. It goes into the system prompt as it is
// and is part of a provider's cached prefix: change it seldom.
func Instructions(byCalls bool) string {
	if byCalls {
		return memory + calls + rules
	}
	return memory + blocksText + rules
}

const memory = `# Memory
This workspace has a memory of past conversations. The context above shows what you need most: "Current context" is the story so far, each line under "Earlier conversations" is one conversation (id, time, outcome, topic), "###" lines are turns with their ids. What is shortened or left out is kept and can be asked for.

`

const blocksText = `End every answer with one block like this, after everything the user should read:
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
Give only members that say something new; leave out contextRequests unless you need something. `

const calls = `Two tools belong to it; the user does not see their calls. Call ` + HousekeepingTool + ` once with each final answer, in the same message as its text: topic, one-line summary and outcome of the conversation, what was decided and changed, what is open, and the story so far. Call ` + ContextTool + ` when you need something older: by id ("c12", one turn "c12#3") or by what it is about. Give null for what has nothing new. `

const rules = `Say only what the conversation shows: copy paths, names and numbers exactly. Ask for "summary" before "full"; at most three fulls a turn are served, in the next message.
`
