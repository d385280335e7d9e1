package digest

import "strings"

// callKind is what a tool call does, whichever assistant made it.
type callKind int

const (
	kindOther callKind = iota
	kindRead
	kindSearch
	kindList
	kindEdit
	kindWrite
	kindDelete
	kindShell // a command of no other kind
	kindTest
	kindCheck // build, lint, format, type check
	kindGit
	kindWeb
	kindTask
	kindTodo
	kindAsk
	kindThink
)

// call is a tool call, understood.
type call struct {
	kind    callKind
	tool    string
	files   []string // that it reads or changes
	change  string   // create, modify or delete, of edits
	created bool     // the input says that the file is new
	pattern string   // of searches; question, query or description of others
	where   string   // where it searches
	command string   // the significant part of a shell command
	part    bool     // only part of a file was asked for
	from    string   // first line asked for, as written
	text    string   // new text of an edit or a written file
	old     string   // old text of an edit
	lines   int      // lines that an edit takes out and puts in
	url     string
	todos   []todo
	brief   bool // texts of edits are not wanted
	inserts bool // an edit puts its text in and takes none out
	// everywhere tells that an edit replaces each occurrence, however many.
	everywhere bool
	edits      []FileChange // of patches and shell commands, file by file
}

type todo struct {
	text   string
	status string // pending, in_progress, completed
}

// maxFieldBytes bounds what is kept of one argument.
const maxFieldBytes = 64 << 10

// understand reads a call from its name and arguments. Names of Claude Code,
// Codex, Cline, Cursor, Gemini CLI, OpenHands, SWE-agent and aider are known;
// others are recognised by the shape of their arguments. Without whole, the
// texts of edits are only measured, not decoded.
func understand(tool, input string, whole bool) call {
	args := readObject(input)
	c := call{tool: tool, kind: kindOfTool(tool, args), brief: !whole}
	if len(args.members) == 0 {
		return c.bare(input)
	}
	path := args.text("file_path", "filePath", "path", "absolute_path", "target_file", "notebook_path", "filename", "file", "relative_workspace_path", "file_name", "uri", "relative_path")
	path = strings.TrimPrefix(path, "file://")
	switch c.kind {
	case kindShell:
		c.shell(shellCommand(args))
	case kindRead, kindDelete:
		c.addFile(path)
		for _, raw := range firstElements(args.raw("paths", "files", "file_paths"), maxChangedFiles) {
			if raw[0] == '{' {
				c.addFile(readObject(raw).text("path", "file_path"))
			} else {
				c.addFile(decodeString(raw))
			}
		}
		c.from = args.number("offset", "start_line", "line_start", "start_line_one_indexed")
		c.part = c.from != "" || args.has("limit", "end_line", "line_end", "line_range", "view_range")
		if c.kind == kindDelete {
			c.change = "delete"
		}
	case kindEdit, kindWrite:
		c.addFile(path)
		c.edit(args)
	case kindSearch, kindList:
		c.pattern = args.text("pattern", "regex", "query", "search_term", "glob_pattern", "glob", "file_pattern", "name")
		c.where = path
		if c.pattern == "" {
			c.pattern, c.where = path, ""
		}
		if c.where == "" {
			c.where = args.text("target_directory", "dir_path", "directory", "include")
		}
	case kindWeb:
		c.pattern = args.text("query", "search_term", "q")
		c.url = args.text("url", "uri", "link", "href")
		if c.pattern == "" && c.url == "" {
			c.pattern = args.text("prompt")
		}
	case kindTask:
		c.pattern = args.text("description", "title", "subject", "task_id", "agentId", "mode", "name", "skill")
		if c.pattern == "" {
			c.pattern = args.text("prompt", "message", "task", "instructions")
		}
	case kindTodo:
		c.todo(args)
	case kindAsk:
		c.pattern = args.text("question", "prompt", "plan", "message")
		for _, raw := range firstElements(args.raw("questions"), 1) {
			c.pattern = readObject(raw).text("question")
		}
	case kindThink:
	default:
		c.pattern = args.text("title", "name", "query", "id", "key", "url", "path", "description", "issueId", "question")
		c.addFile(path)
	}
	return c
}

func (c *call) addFile(path string) {
	path = strings.TrimSpace(path)
	if path == "" || len(path) > 1024 || len(c.files) >= maxChangedFiles || strings.ContainsAny(path, "\n\r") {
		return
	}
	for _, f := range c.files {
		if f == path {
			return
		}
	}
	c.files = append(c.files, path)
}

// edit reads what an editing tool changes.
func (c *call) edit(args object) {
	c.change = "modify"
	if patch := args.text("patch", "input", "diff", "patch_text"); patch != "" && (strings.Contains(patch, "*** ") || strings.Contains(patch, "+++ ")) {
		c.patch(patch)
	}
	switch args.text("command") { // the editor of Anthropic's API and SWE-agent
	case "create":
		c.kind, c.change, c.created = kindWrite, "create", true
	case "view":
		c.kind, c.change = kindRead, ""
		return
	case "insert":
		c.inserts = true
	}
	c.everywhere = strings.Trim(args.raw("replace_all", "replaceAll"), `"`) == "true"
	c.take(args)
	for _, raw := range firstElements(args.raw("edits"), 16) {
		c.take(readObject(raw))
	}
}

// take reads the old and the new text of one replacement.
func (c *call) take(args object) {
	old := args.raw("old_string", "old_str", "oldString", "old_text", "oldText", "search", "old_source")
	text := args.raw("new_string", "new_str", "newString", "new_text", "newText", "replace", "content", "file_text", "contents", "code_edit", "new_source", "text", "diff")
	c.lines += rawLines(old) + rawLines(text)
	if c.brief {
		return
	}
	c.old = appendText(c.old, old)
	c.text = appendText(c.text, text)
}

func appendText(s, raw string) string {
	if raw == "" || raw[0] != '"' {
		return s
	}
	if s != "" {
		s += "\n"
	}
	return s + clip(decodeString(raw))
}

// rawLines counts the lines of a JSON string without decoding it.
func rawLines(raw string) int {
	if len(raw) < 3 || raw[0] != '"' {
		return 0
	}
	return strings.Count(raw, `\n`) + 1
}

func clip(s string) string { return cutAtRune(s, maxFieldBytes) }

// patch reads the files of an apply_patch envelope or of a unified diff.
func (c *call) patch(patch string) {
	c.kind = kindEdit
	var old, text strings.Builder
	from := ""         // the name before, of a unified diff
	var at *FileChange // the file that lines belong to
	for patch != "" && old.Len()+text.Len() < maxFieldBytes {
		var line string
		line, patch, _ = strings.Cut(patch, "\n")
		line = strings.TrimSuffix(line, "\r")
		if name, ok := strings.CutPrefix(line, "*** Update File: "); ok {
			c.addFile(name)
			c.change = "modify"
			at = c.edited("modify", name, "")
		} else if name, ok := strings.CutPrefix(line, "*** Add File: "); ok {
			c.addFile(name)
			if len(c.files) == 1 {
				c.change, c.created = "create", true
			}
			at = c.edited("create", name, "")
		} else if name, ok := strings.CutPrefix(line, "*** Delete File: "); ok {
			c.addFile(name)
			if len(c.files) == 1 {
				c.change = "delete"
			}
			c.edited("delete", name, "")
			at = nil
		} else if name, ok := strings.CutPrefix(line, "*** Move to: "); ok && at != nil {
			at.Type, at.From, at.File = "rename", at.File, strings.TrimSpace(name)
		} else if name, ok := strings.CutPrefix(line, "--- "); ok && (strings.HasPrefix(name, "a/") || name == "/dev/null") {
			from = strings.TrimPrefix(name, "a/")
		} else if name, ok := strings.CutPrefix(line, "+++ b/"); ok {
			c.addFile(name)
			switch {
			case from == "/dev/null":
				at = c.edited("create", name, "")
			case from != "" && from != name:
				at = c.edited("rename", name, from)
			default:
				at = c.edited("modify", name, "")
			}
		} else if line == "+++ /dev/null" && from != "" {
			c.addFile(from)
			at = c.edited("delete", from, "")
		} else if strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "+++") {
			text.WriteString(line[1:] + "\n")
			if at != nil && strings.TrimSpace(line[1:]) != "" {
				at.Added++
			}
		} else if strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "---") {
			old.WriteString(line[1:] + "\n")
			if at != nil && strings.TrimSpace(line[1:]) != "" {
				at.Removed++
			}
		}
	}
	for i := range c.edits {
		// "Delete File" does not say what was in it; of a long patch the end was not read.
		e := &c.edits[i]
		if e.Counted = patch == "" && e.Added+e.Removed > 0; !e.Counted {
			e.Added, e.Removed = 0, 0
		}
	}
	c.old, c.text = old.String(), text.String()
	c.lines = countLines(c.old) + countLines(c.text)
	if c.change == "" {
		c.change = "modify"
	}
}

// todo reads the list of a planning tool.
func (c *call) todo(args object) {
	raw := args.raw("todos", "plan", "items", "tasks", "newTodos")
	for _, item := range firstElements(raw, 40) {
		o := readObject(item)
		text := o.text("content", "step", "text", "title", "subject", "description")
		status := strings.ToLower(o.text("status", "state"))
		if text == "" {
			continue
		}
		switch status {
		case "done", "complete":
			status = "completed"
		case "in-progress", "active", "doing":
			status = "in_progress"
		case "":
			status = "pending"
		}
		c.todos = append(c.todos, todo{oneLine(cutAtRune(text, 300)), status})
	}
	c.pattern = args.text("subject", "content", "taskId", "status")
}

// bare reads arguments that are not a JSON object: a command, or a patch.
func (c call) bare(input string) call {
	input = strings.TrimSpace(input)
	if strings.HasPrefix(input, `"`) {
		input = decodeString(input)
	}
	if input == "" || input == "{}" || input == "null" {
		return c
	}
	switch c.kind {
	case kindRead, kindEdit, kindWrite, kindDelete:
		if strings.Contains(input, "*** Begin Patch") {
			c.patch(input)
			return c
		}
		first, rest, _ := strings.Cut(input, "\n")
		c.addFile(strings.Fields(first + " ")[0])
		c.text = clip(rest)
		if c.kind == kindEdit || c.kind == kindWrite {
			c.change = "modify"
		}
	case kindShell, kindOther:
		c.kind = kindShell
		c.shell(input)
	default:
		c.pattern = cutAtRune(oneLine(cutAtRune(input, 400)), 120)
	}
	return c
}

// shellCommand takes the command line out of the arguments; Codex gives it as
// an argument vector.
func shellCommand(args object) string {
	raw := args.raw("command", "cmd", "script", "code", "input", "commands", "keystrokes")
	if strings.HasPrefix(raw, "[") {
		list, _ := elements(raw, 64)
		words := make([]string, 0, len(list))
		for _, e := range list {
			words = append(words, decodeString(e))
		}
		if n := len(words); n >= 3 && strings.HasPrefix(words[1], "-") && strings.Contains(words[1], "c") {
			return words[n-1]
		}
		return strings.Join(words, " ")
	}
	return decodeString(raw)
}

// kindOfTool recognises a tool by its name, or by its arguments.
func kindOfTool(tool string, args object) callKind {
	name := strings.ToLower(tool)
	if i := strings.LastIndex(name, "__"); i >= 0 { // mcp__server__name
		name = name[i+2:]
	}
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, name)
	switch name {
	case "read", "readfile", "view", "open", "cat", "viewfile", "notebookread", "readmanyfiles", "fetchfile", "readnotebook", "goto", "scrollup", "scrolldown", "gettextfile", "readtextfile", "readmediafile":
		return kindRead
	case "edit", "multiedit", "replace", "replaceinfile", "editfile", "searchreplace", "strreplace", "applydiff", "applypatch", "insertcontent", "notebookedit", "insert", "strreplaceeditor", "strreplacebasededittool", "texteditor", "editnotebook", "patch", "searchandreplace", "morphedit":
		return kindEdit
	case "write", "writefile", "writetofile", "create", "createfile", "savefile", "newfile":
		return kindWrite
	case "delete", "deletefile", "remove", "removefile":
		return kindDelete
	case "grep", "searchfiles", "searchfilecontent", "grepsearch", "codebasesearch", "rg", "ripgrep", "searchdir", "searchfile", "semanticsearch", "searchcode", "findreferences", "findsymbol":
		return kindSearch
	case "glob", "ls", "listfiles", "listdirectory", "listdir", "findfile", "filesearch", "find", "listcodedefinitionnames", "globfilesearch", "findfiles":
		return kindList
	case "bash", "shell", "execute", "executecommand", "runshellcommand", "runterminalcmd", "terminal", "exec", "execcommand", "localshell", "localshellcall", "run", "shellexec", "cmdrun", "executebash", "containerexec", "shellcommand", "unifiedexec", "bashexecution", "runcommand", "powershell":
		return kindShell
	case "webfetch", "websearch", "googlewebsearch", "fetchurl", "fetch", "browse", "browseraction", "webread", "browserinteractive", "websearchcall":
		return kindWeb
	case "task", "agent", "taskoutput", "newtask", "dispatchagent", "agentoutputtool", "subagent", "delegate", "skill", "bashoutput", "killshell", "killbash", "useskill":
		return kindTask
	case "todowrite", "updateplan", "todoread", "taskcreate", "taskupdate", "tasklist", "writetodos", "updatetodolist", "taskprogress", "setplan":
		return kindTodo
	case "askuserquestion", "askfollowupquestion", "askuser", "exitplanmode", "attemptcompletion", "planmoderespond", "messageuser":
		return kindAsk
	case "think", "thinking", "finish", "submit", "recall", "savememory", "sequentialthinking":
		return kindThink
	}
	switch {
	case args.has("old_string", "old_str", "oldText", "patch", "edits") && args.has("path", "file_path", "filePath", "patch"):
		return kindEdit
	case args.has("content", "file_text") && args.has("path", "file_path", "filePath", "target_file"):
		return kindWrite
	case args.has("command", "cmd"):
		return kindShell
	case args.has("pattern", "regex"):
		return kindSearch
	case args.has("todos"):
		return kindTodo
	case args.has("url"):
		return kindWeb
	case args.has("file_path", "absolute_path", "filePath"):
		return kindRead
	}
	return kindOther
}
