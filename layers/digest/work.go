package digest

import "hexapla/layers"

// Work counts what a conversation's calls of tools did, by what is in turns: a
// conversation whose turns are counted in two parts comes to the sum, but for
// results in another part than their calls.
func Work(turns []layers.Turn) layers.Work {
	var w layers.Work
	counted := map[string]bool{} // ids of calls that wait for their result
	for i := range turns {
		for _, made := range turns[i].Calls {
			k := understand(made.Name, made.Input, false)
			switch k.kind {
			case kindTodo, kindAsk, kindThink:
				continue
			case kindEdit, kindWrite, kindDelete:
				w.Edits++
			case kindTest, kindCheck:
				w.Tests++
			case kindRead:
				w.Reads++
			case kindSearch, kindList, kindWeb:
				w.Searches++
			case kindGit:
				w.Upkeep++
			case kindShell:
				w.Commands++
			}
			w.Calls++
			counted[made.ID] = true
		}
		for j := range turns[i].Results {
			result := &turns[i].Results[j]
			if !counted[result.CallID] {
				continue
			}
			delete(counted, result.CallID)
			if failed, _ := failedBy(result.Compressed.Summary); failed || result.IsError {
				w.Failed++
			}
		}
	}
	return w
}
