package answer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// kindName is a JSON value's kind for people.
func kindName(value jsontext.Value) string {
	switch value.Kind() {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	}
	return "true or false"
}

func (r *reader) misfit(part, name, want string, value jsontext.Value) {
	r.problem(part, name+": must be "+want+", not "+kindName(value))
}

// inside reads the members of an object.
func (r *reader) inside(name string, value jsontext.Value, read func(name string, value jsontext.Value)) {
	if value.Kind() != '{' {
		r.misfit(PartHousekeeping, name, "an object", value)
		return
	}
	eachMember(value, func(name string, value jsontext.Value) {
		if value.Kind() != 'n' {
			read(name, value)
		}
	})
}

// textOf is a value as text: strings, numbers, true and false; a list of texts
// as lines. Dots that a model copied from its instructions say nothing.
func textOf(value jsontext.Value) (string, bool) {
	switch value.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, value)
		if plain := strings.TrimSpace(string(text)); plain == "..." || plain == "…" {
			return "", true
		}
		return string(text), err == nil
	case '0', 't', 'f':
		return string(value), true
	case 'n':
		return "", true
	}
	return "", false
}

// text reads a text; an empty one says nothing.
func (r *reader) text(name string, value jsontext.Value, into *string) {
	text, ok := textOf(value)
	if value.Kind() == '[' {
		var lines []string
		ok = true
		eachItem(value, func(value jsontext.Value) {
			line, fits := textOf(value)
			if ok = ok && fits && len(lines) < maxItems; ok && line != "" {
				lines = append(lines, line)
			}
		})
		text = strings.Join(lines, "\n")
	}
	if !ok {
		r.misfit(PartHousekeeping, name, "a string", value)
		return
	}
	if text = r.clip(name, text); text != "" {
		*into = text
	}
}

// clip bounds a text.
func (r *reader) clip(name, text string) string {
	if len(text) <= maxText {
		return text
	}
	r.problem(PartHousekeeping, name+": only the first "+strconv.Itoa(maxText)+" bytes are used")
	return strings.ToValidUTF8(text[:maxText], "")
}

// choice reads one of a closed set, in whatever case.
func (r *reader) choice(name string, value jsontext.Value, into *string, values ...string) {
	text, ok := textOf(value)
	text = strings.ToLower(strings.TrimSpace(text))
	switch {
	case ok && text == "":
	case ok && slices.Contains(values, text):
		*into = text
	default:
		r.problem(PartHousekeeping, name+`: must be "`+strings.Join(values[:len(values)-1], `", "`)+`" or "`+values[len(values)-1]+`"`)
	}
}

// items calls f for the elements of a list; a value that is no list counts as
// its only element. What is beyond the limit is reported.
func (r *reader) items(name string, value jsontext.Value, f func(jsontext.Value)) {
	if value.Kind() != '[' {
		f(value)
		return
	}
	n := 0
	eachItem(value, func(value jsontext.Value) {
		if n++; n <= maxItems && value.Kind() != 'n' {
			f(value)
		}
	})
	if n > maxItems {
		r.problem(PartHousekeeping, name+": only the first "+strconv.Itoa(maxItems)+" of "+strconv.Itoa(n)+" are used")
	}
}

// texts reads a list of texts. An object stands for the texts in it, as where a
// decision is given as {decision, reason}.
func (r *reader) texts(name string, value jsontext.Value) []string {
	var out []string
	r.items(name, value, func(item jsontext.Value) {
		text, ok := textOf(item)
		if item.Kind() == '{' {
			var parts []string
			ok = true
			eachMember(item, func(_ string, part jsontext.Value) {
				text, fits := textOf(part)
				if ok = ok && fits && len(parts) < maxItems; ok && text != "" {
					parts = append(parts, text)
				}
			})
			text = strings.Join(parts, ": ")
		}
		switch {
		case !ok:
			r.misfit(PartHousekeeping, name, "a list of strings", item)
		case value.Kind() == '"' && nothing(text):
		default:
			if text = r.clip(name, text); strings.TrimSpace(text) != "" {
				out = append(out, text)
			}
		}
	})
	return out
}

// nothing tells that a text in place of a list says that there is nothing.
func nothing(text string) bool {
	switch strings.ToLower(strings.Trim(text, " .-")) {
	case "", "none", "n/a", "nothing", "null":
		return true
	}
	return false
}

// replace reads a list that is a state: the last one counts.
func (r *reader) replace(name string, value jsontext.Value, into *[]string) {
	if list := r.texts(name, value); len(list) > 0 {
		*into = list
	}
}

// add reads a list that adds up: what is not there yet is added.
func (r *reader) add(name string, value jsontext.Value, into *[]string) {
	for _, text := range r.texts(name, value) {
		if slices.Contains(*into, text) {
			continue
		}
		if len(*into) == maxItems {
			r.problem(PartHousekeeping, name+": only the first "+strconv.Itoa(maxItems)+" are used")
			return
		}
		*into = append(*into, text)
	}
}
