package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// retrievalLine is what one ranking scored on a set, as --json prints it. The
// hits and MRR are of conversations, the recalls of messages where the set says
// which messages hold an answer, else of conversations too.
type retrievalLine struct {
	Set      string  `json:"set"`
	Ranking  string  `json:"ranking"`
	Queries  int     `json:"queries"`
	Unit     string  `json:"unit"` // of the recalls: "message" or "conversation"
	Hit1     float64 `json:"hit1"`
	Hit5     float64 `json:"hit5"`
	MRR      float64 `json:"mrr"`
	Recall1  float64 `json:"recall1"`
	Recall5  float64 `json:"recall5"`
	Recall10 float64 `json:"recall10"`
	// Share of the evidence in a pack of 4,000 and 8,000 tokens.
	PackRecall4k *float64 `json:"packRecall4k,omitempty"`
	PackRecall8k *float64 `json:"packRecall8k,omitempty"`
	// Of a search for conversations, from the request to the answer.
	MedianMs *float64 `json:"medianMs,omitempty"`
	// All measures at both levels with their 95 % intervals.
	Messages      *level  `json:"messages,omitempty"`
	Conversations level   `json:"conversations"`
	Pack4k        *spread `json:"pack4k,omitempty"`
	Pack8k        *spread `json:"pack8k,omitempty"`
}

// lines are the results of a set, the server's first.
func (e *retrievalEval) lines() []retrievalLine {
	var lines []retrievalLine
	for _, name := range append([]string{rankingServer}, baselines()...) {
		s := e.rankings[name]
		line := retrievalLine{Set: e.set, Ranking: name, Queries: len(s.conversations), Unit: "conversation"}
		line.Conversations = summarise(s.conversations)
		recalls := line.Conversations
		if len(s.messages) > 0 {
			l := summarise(s.messages)
			line.Messages, recalls, line.Unit = &l, l, "message"
		}
		c := line.Conversations
		line.Hit1, line.Hit5, line.MRR = c.Hit1, c.Hit5, c.MRR
		line.Recall1, line.Recall5, line.Recall10 = recalls.Recall1, recalls.Recall5, recalls.Recall10
		if len(s.packs[0]) > 0 {
			small, large := spreadOf(s.packs[0]), spreadOf(s.packs[1])
			line.Pack4k, line.Pack8k = &small, &large
			line.PackRecall4k, line.PackRecall8k = &small.Mean, &large.Mean
		}
		if name == rankingServer && len(e.took) > 0 {
			slices.Sort(e.took)
			ms := places(float64(e.took[len(e.took)/2]) / float64(time.Millisecond))
			line.MedianMs = &ms
		}
		lines = append(lines, line)
	}
	return lines
}

// writeRetrieval writes the tables of one set.
func writeRetrieval(w io.Writer, lines []retrievalLine) {
	first := lines[0]
	fmt.Fprintf(w, "%s: %s, median search %.1f ms\n", first.Set, plural(first.Queries, "question"), *first.MedianMs)
	if first.Messages != nil {
		fmt.Fprintf(w, "\nmessages\n")
		rows := [][]string{levelHead()}
		for _, line := range lines {
			rows = append(rows, line.Messages.row(line.Ranking))
		}
		writeAligned(w, rows)
	}
	fmt.Fprintf(w, "\nconversations\n")
	rows := [][]string{levelHead()}
	for _, line := range lines {
		rows = append(rows, line.Conversations.row(line.Ranking))
	}
	writeAligned(w, rows)
	fmt.Fprintf(w, "\nevidence in a pack\n")
	rows = [][]string{{"ranking", "4,000 tokens", "", "8,000 tokens", ""}}
	for _, line := range lines {
		if line.Pack4k != nil {
			rows = append(rows, []string{line.Ranking, percent(line.Pack4k.Mean), between(line.Pack4k.Low, line.Pack4k.High),
				percent(line.Pack8k.Mean), between(line.Pack8k.Low, line.Pack8k.High)})
		}
	}
	writeAligned(w, rows)
}

func levelHead() []string {
	return []string{"ranking", "hit@1", "hit@5", "MRR", "", "R@1", "R@5", "R@10", ""}
}

func (l level) row(name string) []string {
	return []string{
		name, percent(l.Hit1), percent(l.Hit5), fmt.Sprintf("%.3f", l.MRR), fmt.Sprintf("[%.3f, %.3f]", l.Low.MRR, l.High.MRR),
		percent(l.Recall1), percent(l.Recall5), percent(l.Recall10), between(l.Low.Recall10, l.High.Recall10),
	}
}

// between is an interval of shares.
func between(low, high float64) string { return fmt.Sprintf("[%.1f, %.1f]", 100*low, 100*high) }
