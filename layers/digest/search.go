package digest

import (
	"fmt"
	"strings"
)

// matches is the output of a search.
type matches struct {
	count  int
	files  []fileMatches // in order of appearance
	places []string      // "path:line"
	named  int           // lines that are file names only
}

type fileMatches struct {
	name  string
	count int
}

// matchesIn reads the output of grep and its kin: "path:12:text", "12:text" of
// a single file, or a list of paths.
func matchesIn(text, single string) matches {
	var m matches
	index := make(map[string]int, 16)
	note := func(name string, n int) {
		i, ok := index[name]
		if !ok {
			if len(m.files) >= maxEntities {
				return
			}
			i = len(m.files)
			index[name] = i
			m.files = append(m.files, fileMatches{name: name})
		}
		m.files[i].count += n
	}
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		line = strings.TrimSuffix(line, "\r")
		if line == "" || line == "--" || strings.HasPrefix(line, "Found ") {
			continue
		}
		if n := digits(line); n > 0 && n < len(line) && line[n] == ':' {
			m.count++
			if single != "" {
				note(single, 1)
				if len(m.places) < maxResultPlaces {
					m.places = append(m.places, single+":"+line[:n])
				}
			}
			continue
		}
		end := strings.IndexByte(line, ':')
		if end == 1 && len(line) > 2 && line[2] == '\\' {
			if next := strings.IndexByte(line[2:], ':'); next >= 0 {
				end = next + 2
			}
		}
		if end < 0 {
			if isFile(line, 0, true) && !strings.Contains(line, " ") {
				m.named++
				note(line, 0)
			}
			continue
		}
		name := line[:end]
		if len(name) > 400 || strings.Contains(name, " ") || !isFile(name, 0, true) {
			continue
		}
		m.count++
		note(name, 1)
		if n := digits(line[end+1:]); n > 0 && len(m.places) < maxResultPlaces {
			m.places = append(m.places, name+":"+line[end+1:end+1+n])
		}
	}
	return m
}

func (e *examination) searchSummary() string {
	k := e.call
	s := "search " + quoted(oneLine(cutAtRune(k.pattern, 400)), 70)
	single := ""
	if isFile(k.where, 0, true) {
		single = k.where
		s += " in " + shortPath(k.where)
	}
	t := strings.TrimSpace(e.out.text)
	if t == "" || strings.HasPrefix(t, "No matches") || strings.HasPrefix(t, "No files") || strings.HasPrefix(t, "Found 0") {
		return s + ": no matches"
	}
	m := matchesIn(e.out.text, single)
	switch {
	case m.count > 0 && single != "" && len(m.files) <= 1:
		return s + fmt.Sprintf(": %d %s", m.count, plural(m.count, "match")) + lineNumbers(m.places)
	case m.count > 0 && len(m.files) > 0:
		s += fmt.Sprintf(": %d %s in %d %s", m.count, plural(m.count, "match"), len(m.files), plural(len(m.files), "file"))
		top := m.files[0]
		for _, f := range m.files {
			if f.count > top.count {
				top = f
			}
		}
		switch {
		case len(m.files) == 1:
			return s + ": " + shortPath(top.name) + lineNumbers(m.places)
		case len(m.files) <= 3:
			return s + ": " + fileList(m.files, 3)
		}
		return s + ", most in " + shortPath(top.name)
	case m.count > 0:
		return s + fmt.Sprintf(": %d %s", m.count, plural(m.count, "match"))
	case len(m.files) > 0:
		return s + fmt.Sprintf(": %d %s: ", len(m.files), plural(len(m.files), "file")) + fileList(m.files, 5)
	}
	return s + fmt.Sprintf(": %d %s", e.out.lines, plural(e.out.lines, "line"))
}

// lineNumbers lists the numbers of "path:12" references.
func lineNumbers(places []string) string {
	var out []string
	for _, p := range places {
		if len(out) == 6 {
			out = append(out, "…")
			break
		}
		out = append(out, p[strings.LastIndexByte(p, ':')+1:])
	}
	if len(out) == 0 {
		return ""
	}
	return ", " + plural(len(places), "line") + " " + strings.Join(out, ", ")
}

func fileList(files []fileMatches, n int) string {
	var out []string
	for _, f := range files {
		if len(out) == n {
			out = append(out, "…")
			break
		}
		out = append(out, shortPath(f.name))
	}
	return strings.Join(out, ", ")
}

func (e *examination) listSummary() string {
	s := "list " + quoted(oneLine(cutAtRune(e.call.pattern, 400)), 70)
	if e.call.pattern == "" {
		s = "list files"
	}
	t := strings.TrimSpace(e.out.text)
	if t == "" || strings.HasPrefix(t, "No files") || strings.HasPrefix(t, "No matches") {
		return s + ": nothing found"
	}
	m := matchesIn(e.out.text, "")
	if len(m.files) == 0 {
		s += fmt.Sprintf(": %d %s", e.out.lines, plural(e.out.lines, "line"))
		if names := e.scan.files.list; len(names) > 0 {
			s += ": " + strings.Join(shortPaths(names, 5), ", ")
		}
		return s
	}
	return s + fmt.Sprintf(": %d %s: ", len(m.files), plural(len(m.files), "file")) + fileList(m.files, 5)
}
