package transcript_test

import (
	"fmt"
	"strings"
	"testing"

	"hexapla/internal/transcript"
)

// lines joins lines of a made-up transcript.
func lines(l ...string) string { return strings.Join(l, "\n") + "\n" }

func user(uuid, parent, text string) string {
	return fmt.Sprintf(`{"type":"user","uuid":%q,"parentUuid":%q,"sessionId":"s","timestamp":"2026-01-15T12:00:00Z","message":{"role":"user","content":%q}}`, uuid, parent, text)
}

func result(uuid, parent, call, text string) string {
	return fmt.Sprintf(`{"type":"user","uuid":%q,"parentUuid":%q,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]},"toolUseResult":{"stdout":"again"}}`, uuid, parent, call, text)
}

func answer(uuid, parent, id, block string) string {
	return fmt.Sprintf(`{"type":"assistant","uuid":%q,"parentUuid":%q,"message":{"id":%q,"model":"m","content":[%s],"usage":{"input_tokens":1,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":7,"cache_creation":{"ephemeral_1h_input_tokens":5}}}}`, uuid, parent, id, block)
}

func text(s string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, s) }

func use(id, name string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{"a": [1, 2]}}`, id, name)
}

const compaction = `{"type":"user","uuid":"sum","parentUuid":"b","isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{"role":"user","content":"what was said"}}`

func TestClaude(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, want, skipped string
		problems            []string
	}{
		"one message over several lines, thinking apart": {
			text: lines(user("u1", "", "do it"),
				answer("a1", "u1", "m1", `{"type":"thinking","thinking":"hm","signature":"xyz"}`),
				answer("a2", "a1", "m1", text("I will.")),
				answer("a3", "a2", "m1", use("t1", "Read")),
				result("r1", "a3", "t1", "out"),
				answer("a4", "r1", "m2", text("Done."))),
			want: `
0 user "do it"
1 assistant "I will." (hm) t1=Read{"a":[1,2]}
2 tool t1/Read:"out"
3 assistant "Done."
`},
		"parallel calls, results between the lines and out of order": {
			text: lines(user("u1", "", "do it"),
				answer("a1", "u1", "m1", use("t1", "Read")),
				result("r0", "a1", "t2", "early"),
				answer("a2", "a1", "m1", use("t2", "Bash")),
				result("r1", "a2", "t1", "late"),
				answer("a3", "r1", "m2", text("Done."))),
			want: `
0 user "do it"
1 assistant t1=Read{"a":[1,2]} t2=Bash{"a":[1,2]}
2 tool t1/Read:"late" t2/Bash:"early"
3 assistant "Done."
`},
		"blocks of text and images, errors": {
			text: lines(user("u1", "", "do it"),
				answer("a1", "u1", "m1", use("t1", "Read")),
				`{"type":"user","uuid":"r1","parentUuid":"a1","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"a"},{"type":"image","source":{"media_type":"image/png"}},{"type":"text","text":"b"}]}]}}`,
				`{"type":"user","uuid":"u2","parentUuid":"r1","message":{"content":[{"type":"image","source":{"media_type":"image/png","data":"AAAA"}},{"type":"text","text":"look"}]}}`),
			want: `
0 user "do it"
1 assistant t1=Read{"a":[1,2]}
2 tool t1/Read:"a\n[image: image/png]\nb"!
3 user "[image: image/png]\nlook"
`},
		"two objects on one line, a torn line in front of a whole one, a torn end": {
			text: user("u1", "", "one") + answer("a1", "u1", "m1", text("two")) + "\n" +
				`{"parentUuid":"a1","type":"user","message":{"content":"thr` + `{"parentUuid":"a1","uuid":"u2","type":"user","message":{"content":"four"}}` + "\n" +
				answer("a2", "u2", "m2", text("five"))[:70],
			want: `
0 user "one"
1 assistant "two"
2 user "four"
`,
			problems: []string{"x:2: no JSON: invalid character", "x:3: the line is torn (the last line of the file)"},
		},
		"lines of something else": {
			text: lines(user("u1", "", "one"), "not JSON", "[1,2]", "42", `{"type":7,"uuid":"z"}`, answer("a1", "u1", "m1", text("two"))),
			want: `
0 user "one"
1 assistant "two"
`,
			skipped:  "1 untyped lines",
			problems: []string{"x:2: no JSON", "x:3: a JSON array where an object belongs", "x:4: a JSON number where an object belongs", "x:5: type is a number"},
		},
		"what is no conversation": {
			text: lines(`{"type":"summary","summary":"other","leafUuid":"zz"}`,
				`{"type":"file-history-snapshot","messageId":"q","snapshot":{}}`,
				user("u1", "", "one"),
				`{"type":"progress","uuid":"p1","parentUuid":"u1","data":{}}`,
				`{"type":"assistant","isSidechain":true,"uuid":"x1","message":{"id":"side","content":[{"type":"text","text":"no"}]}}`,
				`{"type":"assistant","uuid":"x2","parentUuid":"u1","isApiErrorMessage":true,"message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}}`,
				answer("a1", "x2", "m1", text("two")),
				`{"type":"system","subtype":"turn_duration","uuid":"y","parentUuid":"a1"}`,
				answer("a1", "x2", "m1", text("two"))),
			want: `
0 user "one"
1 assistant "two"
`,
			skipped: "1 client-made answer lines, 1 file-history-snapshot lines, 1 progress lines, 1 repeated lines, 1 sidechain lines, 1 summary lines, 1 system turn_duration lines",
		},
		"compaction": {
			text: lines(user("u1", "", "one"), answer("a1", "u1", "m1", use("t1", "Read")), result("r1", "a1", "t1", "out"),
				`{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":null,"logicalParentUuid":"r1"}`,
				compaction, user("u2", "sum", "go on"), answer("a2", "u2", "m2", text("yes"))),
			want: `
0 user "one"
1 assistant t1=Read{"a":[1,2]}
2 tool t1/Read:"out"
3 user compaction "what was said"
4 user "go on"
5 assistant "yes"
`,
			skipped: "1 system compact_boundary lines",
		},
		"interruption and a second prompt are one message": {
			text: lines(user("u1", "", "one"), answer("a1", "u1", "m1", use("t1", "Bash")), result("r1", "a1", "t1", "rejected"),
				user("u2", "r1", "[Request interrupted by user for tool use]"), user("u3", "u2", "rather this"), answer("a2", "u3", "m2", text("ok")),
				user("u4", "a2", "[Request interrupted by user]")),
			want: `
0 user "one"
1 assistant t1=Bash{"a":[1,2]}
2 tool t1/Bash:"rejected"
3 user "[Request interrupted by user for tool use]\n\nrather this"
4 assistant "ok"
5 user user_feedback "[Request interrupted by user]"
`},
		"commands: the client's own are left out, expansions belong to the prompt": {
			text: lines(
				`{"type":"user","uuid":"k1","parentUuid":null,"isMeta":true,"message":{"content":"<local-command-caveat>Caveat: ...</local-command-caveat>"}}`,
				user("k2", "k1", "<command-name>/cost</command-name>\n<command-args></command-args>"),
				user("k3", "k2", "<local-command-stdout>$1</local-command-stdout>"),
				user("u1", "k3", "<command-message>review</command-message>\n<command-name>/review</command-name>"),
				`{"type":"user","uuid":"u2","parentUuid":"u1","isMeta":true,"message":{"content":[{"type":"text","text":"# Review everything"}]}}`,
				answer("a1", "u2", "m1", text("ok")),
				user("u3", "a1", "<command-name>/deploy</command-name>"),
				answer("a2", "u3", "m2", text("deployed")),
				`{"type":"user","uuid":"h","parentUuid":"a2","isMeta":true,"message":{"content":"Stop hook feedback: go on"}}`,
				answer("a3", "h", "m3", text("more"))),
			want: `
0 user "<command-message>review</command-message>\n<command-name>/review</command-name>\n\n# Review everything"
1 assistant "ok"
2 user "<command-name>/deploy</command-name>"
3 assistant "deployed"
4 user user_feedback "Stop hook feedback: go on"
5 assistant "more"
`,
			skipped: "3 local commands of the client",
		},
		"prompts typed while the model is busy": {
			text: lines(user("u1", "", "one"), answer("a1", "u1", "m1", use("t1", "Bash")),
				`{"type":"queue-operation","operation":"enqueue","content":"and this","sessionId":"s"}`,
				`{"type":"queue-operation","operation":"enqueue","content":"/help","sessionId":"s"}`,
				`{"type":"queue-operation","operation":"enqueue","content":"then that","sessionId":"s"}`,
				`{"type":"queue-operation","operation":"remove","sessionId":"s"}`,
				`{"type":"queue-operation","operation":"remove","sessionId":"s"}`,
				result("r1", "a1", "t1", "out"), answer("a2", "r1", "m2", text("two")),
				`{"type":"queue-operation","operation":"dequeue","sessionId":"s"}`,
				user("u2", "a2", "then that"), answer("a3", "u2", "m3", text("three"))),
			want: `
0 user "one"
1 assistant t1=Bash{"a":[1,2]}
2 tool t1/Bash:"out"
3 user user_feedback "and this"
4 assistant "two"
5 user "then that"
6 assistant "three"
`,
			skipped: "1 queued local commands",
		},
		"going back": {
			text: lines(user("u1", "", "one"), answer("a1", "u1", "m1", text("two")),
				`{"type":"system","subtype":"stop_hook_summary","uuid":"h","parentUuid":"a1"}`,
				user("u2", "h", "wrong way"), answer("a2", "u2", "m2", text("as you wish")), user("u3", "a2", "even worse"),
				user("u4", "h", "right way"), answer("a3", "u4", "m3", text("good"))),
			want: `
0 user "one"
1 assistant "two"
2 user "wrong way"
3 assistant "as you wish"
4 user "even worse"
5 after 1 user "right way"
6 assistant "good"
`,
			skipped: "1 system stop_hook_summary lines",
		},
		"results of calls that are not there": {
			text: lines(result("r1", "zz", "t9", "whose?"), user("u1", "r1", "one"), result("r2", "zz", "t8", "late"), answer("a1", "u1", "m1", text("two"))),
			want: `
0 tool t9/:"whose?"
1 user "one"
2 tool t8/:"late"
3 assistant "two"
`},
		"windows lines, byte order mark, empty lines": {
			text: "\ufeff" + strings.ReplaceAll(lines(user("u1", "", "one"), "", answer("a1", "u1", "m1", text("two"))), "\n", "\r\n"),
			want: `
0 user "one"
1 assistant "two"
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, messages, report := read(t, "x", c.text)
			compare(t, "messages", outline(messages), c.want)
			compare(t, "skipped", report.LeftOut(), c.skipped)
			if len(report.Problems) != len(c.problems) {
				t.Fatalf("problems %v, want %q", report.Problems, c.problems)
			}
			for i, p := range report.Problems {
				if !strings.HasPrefix(p.String(), c.problems[i]) {
					t.Errorf("problem %q, want %q", p, c.problems[i])
				}
			}
			wellFormed(t, messages)
		})
	}
}

func TestClaudeUsageAndReport(t *testing.T) {
	t.Parallel()
	session, messages, report := read(t, "x", lines(user("u1", "", "one"),
		answer("a1", "u1", "m1", text("a")), answer("a2", "a1", "m1", use("t1", "Read")), result("r1", "a2", "t1", "o"),
		compaction, answer("a3", "sum", "m2", text("c")), user("u9", "u1", "back")))
	if session.ID != "s" || session.Model != "m" {
		t.Errorf("session %+v", session)
	}
	if want := (transcript.Usage{Input: 1, CacheWrite: 20, CacheWriteHour: 5, CacheRead: 300, Output: 7}); messages[1].Usage == nil || *messages[1].Usage != want {
		t.Errorf("usage %+v, want %+v", messages[1].Usage, want)
	}
	if messages[1].Usage.Prompt() != 321 {
		t.Errorf("prompt of %d tokens", messages[1].Usage.Prompt())
	}
	if report.Calls != 2 || report.Prompts != 2 || report.Compactions != 1 || report.Rewinds != 1 || report.Messages != len(messages) {
		t.Errorf("report %+v", report)
	}
}

// TestProblemsAreBounded: a file of garbage does not fill memory with
// complaints.
func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	_, _, report := read(t, "x", user("u1", "", "one")+"\n"+strings.Repeat("garbage\n", 1000))
	if len(report.Problems) != 50 || report.MoreProblems != 950 {
		t.Errorf("%d problems and %d more", len(report.Problems), report.MoreProblems)
	}
}
