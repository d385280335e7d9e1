package answer

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hexapla/layers"
)

// Names of Hexapla's tools.
const (
	HousekeepingTool = "hexapla_housekeeping"
	ContextTool      = "hexapla_context"
)

// OwnTool returns the one of Hexapla's tools that a name means, "" for others.
// Clients put the name of a server in front of a tool's.
func OwnTool(name string) string {
	for _, own := range [...]string{HousekeepingTool, ContextTool} {
		if before, ok := strings.CutSuffix(name, own); ok && (before == "" || strings.HasSuffix(before, "__") || strings.HasSuffix(before, ".")) {
			return own
		}
	}
	return ""
}

// mark says what an object in the text is by what stands around it.
type mark int

const (
	markNone     mark = iota // a fence of JSON or nothing at all
	markHexapla              // ```hexapla or <hexapla>
	markHouse                // <housekeeping>
	markRequests             // <context_requests>
	markTool                 // <tool_call>
)

// looks is what can be told of an object by its members.
type looks struct {
	house, requests bool // has the part, and a member that it knows
	content, tools  bool
	own             string // it is a call of this tool of ours
	inner           bool   // has members of a part, without the part
	other           bool   // has members that are none of these
	empty           bool
}

func look(object jsontext.Value) looks {
	l := looks{empty: true}
	eachMember(object, func(name string, value jsontext.Value) {
		l.empty = false
		switch name {
		case nameHousekeeping:
			l.house = l.house || holds(value, func(name string) bool { return name == nameLLM || name == nameUser || saidMember(name) })
		case nameRequests:
			l.requests = l.requests || value.Kind() == '[' || holds(value, requestMember)
		case nameContent:
			l.content = true
		case nameToolUses:
			l.tools = true
		case nameTool:
			if text, ok := textOf(value); ok {
				l.own = either(OwnTool(text), l.own)
			}
		case nameInput, nameCallID, nameType:
		default:
			known := name == nameLLM || name == nameUser || saidMember(name) || requestMember(name)
			l.inner = l.inner || known
			l.other = l.other || !known
		}
	})
	return l
}

// holds tells that an object has a member that is known. An object that is
// empty, because the model had nothing to say or was cut off, counts.
func holds(value jsontext.Value, known func(string) bool) bool {
	if value.Kind() != '{' {
		return false
	}
	any, found := false, false
	eachMember(value, func(name string, _ jsontext.Value) {
		any, found = true, found || known(name)
	})
	return found || !any
}

// verdict says what becomes of an object's text.
type verdict int

const (
	foreign verdict = iota // it is not for us and stays
	used                   // it was read and leaves the content
	shown                  // it was read, and has more in it that the user should see
)

// take reads an object if it is for us. whole tells that it is the whole
// answer. content is what it says to the user.
func (r *reader) take(object repaired, m mark, whole bool) (v verdict, content string) {
	value := object.json
	l := look(value)
	if m == markTool && l.own == "" {
		return foreign, ""
	}
	if m == markNone && !l.house && !l.requests && l.own == "" && !(whole && l.content && l.tools) {
		return foreign, ""
	}
	part := PartHousekeeping
	switch {
	case l.own != "":
		r.takeOwn(value)
	case m == markHouse && !l.house:
		if !l.empty && !r.readHousekeeping(value) {
			return foreign, ""
		}
	case m == markRequests && !l.requests:
		if part = PartRequests; !l.empty && !r.readRequests(value) {
			return foreign, ""
		}
	case !l.house && !l.requests && !l.inner && !l.content && !l.tools && !l.empty:
		return foreign, ""
	default:
		if l.requests && !l.house {
			part = PartRequests
		}
		content = r.takeParts(value, m)
	}
	r.report(part, object)
	if m == markNone && l.other && object.cut == "" {
		return shown, ""
	}
	return used, content
}

// takeParts reads the members of an answer's object.
func (r *reader) takeParts(object jsontext.Value, m mark) (content string) {
	eachMember(object, func(name string, value jsontext.Value) {
		switch name {
		case nameHousekeeping:
			r.readHousekeeping(value)
		case nameRequests:
			r.readRequests(value)
		case nameContent:
			if text, ok := textOf(value); ok {
				content = text
			} else {
				r.problem(PartContent, "content: must be a string, not "+kindName(value))
				content = string(value)
			}
		case nameToolUses:
			r.readTools(value)
		case nameLLM, nameUser:
			if m != markNone && value.Kind() == '{' {
				eachMember(value, func(name string, value jsontext.Value) { r.readSaid(name, value) })
			}
		default:
			if m != markNone && !r.readSaid(name, value) {
				r.readRequest(name, value)
			}
		}
	})
	return content
}

// readTools reads the calls that an object of four parts gives.
func (r *reader) readTools(value jsontext.Value) {
	one := func(value jsontext.Value) {
		if value.Kind() != '{' {
			r.misfit(PartToolUses, nameToolUses, "a list of objects", value)
			return
		}
		var call layers.ToolCall
		eachMember(value, func(name string, value jsontext.Value) {
			switch name {
			case nameCallID:
				call.ID, _ = textOf(value)
			case nameTool:
				call.Name, _ = textOf(value)
			case nameInput:
				call.Input = string(value)
			}
		})
		if OwnTool(call.Name) != "" {
			r.ownCall(call)
			return
		}
		r.call(call)
	}
	switch value.Kind() {
	case '[':
		eachItem(value, one)
	case 'n':
	default:
		one(value)
	}
}

// call adds a call of somebody else's tool.
func (r *reader) call(call layers.ToolCall) {
	switch {
	case call.Name == "":
		r.problem(PartToolUses, "a call has no name")
	case len(r.answer.ToolUses) == maxCalls:
		r.problem(PartToolUses, "only the first "+strconv.Itoa(maxCalls)+" calls are used")
	default:
		r.answer.ToolUses = append(r.answer.ToolUses, call)
	}
}

// takeOwn reads {name, arguments} in the text as a call of our tool. It was no
// real call, so it gets no result.
func (r *reader) takeOwn(object jsontext.Value) {
	calls := len(r.answer.Calls)
	r.readTools(object)
	r.answer.Calls = r.answer.Calls[:calls]
}

// ownCall reads a call of one of our tools. Arguments are JSON, or JSON in a
// string.
func (r *reader) ownCall(call layers.ToolCall) {
	own := OwnCall{ID: call.ID, Name: OwnTool(call.Name)}
	before := len(r.answer.Problems)
	input := strings.TrimSpace(call.Input)
	if strings.HasPrefix(input, `"`) {
		if text, err := jsontext.AppendUnquote(nil, []byte(input)); err == nil {
			input = strings.TrimSpace(string(text))
		}
	}
	part := PartHousekeeping
	if own.Name == ContextTool {
		part = PartRequests
	}
	at := strings.IndexAny(input, "{[")
	switch {
	case at >= 0:
		object := repair(input[at:], true)
		switch {
		case object.json.Kind() == '{' && own.Name == HousekeepingTool && look(object.json).requests:
			r.takeParts(object.json, markHexapla) // both in one call
		case part == PartHousekeeping:
			if !r.readHousekeeping(object.json) && object.cut == "" && !look(object.json).empty {
				r.problem(part, "no member of the arguments is known")
			}
		case !r.readRequests(object.json) && object.cut == "" && !look(object.json).empty:
			r.problem(part, "no member of the arguments is known")
		}
		r.report(part, object)
	case input != "" && input != "null":
		r.problem(part, "the arguments are no JSON object")
	}
	own.Problems = append(own.Problems, r.answer.Problems[before:]...)
	if len(r.answer.Calls) == maxCalls {
		r.problem(PartToolUses, "only the first "+strconv.Itoa(maxCalls)+" calls of Hexapla's tools are answered")
		return
	}
	r.answer.Calls = append(r.answer.Calls, own)
}

// TakeCalls adds calls that a client took out of an answer itself: those of
// Hexapla's tools are read, the others are ToolUses.
func (a *Answer) TakeCalls(calls []layers.ToolCall) {
	r := &reader{answer: *a}
	for _, call := range calls {
		if OwnTool(call.Name) != "" {
			r.ownCall(call)
		} else {
			r.answer.ToolUses = append(r.answer.ToolUses, call)
		}
	}
	*a = r.finish()
}
