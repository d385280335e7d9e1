package retrieval_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/retrieval"
)

// updateRank rewrites the goldens: go test ./retrieval -run TestRank -update.
func updateRank() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the goldens")
	flag.Parse()
	os.Exit(m.Run())
}

// ranking is a file of testdata/rank: records, and queries with the record or
// the conversation that should come first.
type ranking struct {
	records []entry
	queries []rankQuery
}

type rankQuery struct {
	name, target string
	query        retrieval.Query
}

func readRanking(t *testing.T, path string) ranking {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r ranking
	section := ""
	for n, line := range strings.Split(string(data), "\n") {
		bad := func() { t.Fatalf("%s:%d: cannot read %q", path, n+1, line) }
		switch {
		case strings.HasPrefix(line, "-- "):
			section = strings.TrimSuffix(strings.TrimPrefix(line, "-- "), " --")
			if section != "records" {
				r.queries = append(r.queries, rankQuery{name: section})
			}
		case line == "" || section == "":
		case section == "records":
			head, text, ok := strings.Cut(line, " | ")
			kind, id, ok2 := strings.Cut(head, " ")
			if !ok || !ok2 {
				bad()
			}
			parent, _, _ := strings.Cut(id, "#")
			r.records = append(r.records, entry{kind: kind, id: id, parent: parent, text: text})
		default:
			q := &r.queries[len(r.queries)-1]
			key, value, ok := strings.Cut(line, ": ")
			if !ok {
				bad()
			}
			switch key {
			case "query":
				q.query.Text = value
			case "kinds":
				q.query.Kinds = strings.Fields(value)
			case "files":
				q.query.Entities.Files = strings.Fields(value)
			case "errors":
				q.query.Entities.Errors = []string{value}
			case "target":
				q.target = value
			default:
				bad()
			}
		}
	}
	return r
}

// TestRank compares rankings with their goldens (same name, ".golden") and
// checks that the target of each query comes first.
func TestRank(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "rank", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no rankings: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			ranking := readRanking(t, file)
			w := newWorkspace(t)
			for i := range ranking.records {
				r := &ranking.records[i]
				r.entities = filesIn(r.text)
			}
			w.write(7, ranking.records...)
			e := w.engine(w.openIndex())
			w.run(e)
			w.indexed(e)
			var b strings.Builder
			for _, q := range ranking.queries {
				fmt.Fprintf(&b, "-- %s --\n", q.name)
				q.query.Limit = 4
				result := w.search(e, 0, q.query)
				for _, h := range result.Hits {
					fmt.Fprintf(&b, "%.6f %s lexical=%v passage=%v conversation=%v temporal=%v entities=%v errors=%v\n", h.Score, h.ID,
						h.Parts.Lexical, h.Parts.Passage, h.Parts.Conversation, h.Parts.Temporal, h.Parts.Entities, h.Parts.Errors)
				}
				first := ""
				if len(result.Hits) > 0 {
					if first = result.Hits[0].ID; len(q.query.Kinds) == 0 {
						first = result.Hits[0].Conversation
					}
				}
				if first != q.target {
					t.Errorf("%s: %q comes first, not %q", q.name, first, q.target)
				}
			}
			golden := strings.TrimSuffix(file, ".txt") + ".golden"
			if updateRank() {
				if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got := b.String(); got != string(want) {
				t.Errorf("rankings differ from %s (-update rewrites it)\n got:\n%s\nwant:\n%s", golden, got, want)
			}
		})
	}
}

// filesIn takes words with a slash for files, and what follows "undefined" for
// an error.
func filesIn(text string) (e layers.Entities) {
	for _, word := range strings.Fields(text) {
		if word = strings.Trim(word, ".,:;"); strings.Contains(word, "/") {
			e.Files = append(e.Files, word)
		}
	}
	if _, after, ok := strings.Cut(text, "undefined: "); ok {
		word, _, _ := strings.Cut(after, " ")
		e.Errors = append(e.Errors, "undefined: "+strings.Trim(word, ".,?"))
	}
	return e
}
