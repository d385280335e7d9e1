package answer

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hexapla/layers"
)

func (r *reader) requests() *layers.ContextRequests {
	if r.answer.Requests == nil {
		r.answer.Requests = &layers.ContextRequests{}
	}
	return r.answer.Requests
}

// requestMember tells that a name is one of the context requests' members.
func requestMember(name string) bool {
	return name == nameRetrieve || name == nameTopics || name == nameArchive
}

// readRequests reads context requests. It tells whether anything was known.
func (r *reader) readRequests(value jsontext.Value) bool {
	found := false
	switch value.Kind() {
	case 'n':
		return true
	case '[': // the list of what to retrieve, without a name
		r.readRetrieve(value)
		return true
	case '{':
	default:
		r.misfit(PartRequests, nameRequests, "an object", value)
		return false
	}
	eachMember(value, func(name string, value jsontext.Value) {
		found = r.readRequest(name, value) || found
	})
	return found
}

func (r *reader) readRequest(name string, value jsontext.Value) bool {
	if name == nameRequests && value.Kind() == '{' {
		found := false
		eachMember(value, func(name string, value jsontext.Value) {
			found = requestMember(name) && r.readRequest(name, value) || found
		})
		return found
	}
	if !requestMember(name) {
		return false
	}
	if value.Kind() == 'n' {
		return true
	}
	switch name {
	case nameRetrieve:
		r.readRetrieve(value)
	case nameTopics:
		r.asks(name, value, maxTopic, &r.requests().Topics)
	case nameArchive:
		r.asks(name, value, maxName, &r.requests().Archive)
	}
	return true
}

// asks adds ids or topics. What is beyond a limit is reported.
func (r *reader) asks(name string, value jsontext.Value, size int, into *[]string) {
	over, long := 0, 0
	one := func(value jsontext.Value) {
		text, ok := textOf(value)
		if value.Kind() == '{' { // {"id": "c12"} or {"topic": "..."}
			eachMember(value, func(member string, value jsontext.Value) {
				if member == nameCallID || member == nameIDs || member == nameTopic {
					text, ok = textOf(value)
				}
			})
		}
		text = strings.TrimSpace(text)
		switch {
		case !ok:
			r.misfit(PartRequests, name, "a list of strings", value)
		case text == "":
		case len(text) > size:
			long++
		case r.asked >= maxAsked:
			over++
		default:
			r.asked++
			*into = append(*into, text)
		}
	}
	if value.Kind() == '[' {
		eachItem(value, one)
	} else if text, ok := textOf(value); !ok || !nothing(text) {
		one(value)
	}
	if long > 0 {
		r.problem(PartRequests, name+": "+strconv.Itoa(long)+" longer than "+strconv.Itoa(size)+" bytes are not used")
	}
	r.over(name, over)
}

func (r *reader) over(name string, over int) {
	if over > 0 {
		r.problem(PartRequests, name+": "+strconv.Itoa(over)+" beyond the first "+strconv.Itoa(maxAsked)+" of an answer are not used")
	}
}

func (r *reader) readRetrieve(value jsontext.Value) {
	over, index := 0, 0
	one := func(value jsontext.Value) {
		at := nameRetrieve + "[" + strconv.Itoa(index) + "]"
		index++
		requests := r.requests()
		if len(requests.Retrieve) >= maxAsked {
			over++
			return
		}
		var entry layers.Retrieve
		switch value.Kind() {
		case '{':
			entry = r.readEntry(at, value)
		case '"': // only an id
			r.asks(at, value, maxName, &entry.IDs)
		case 'n':
			return
		default:
			r.misfit(PartRequests, at, "an object", value)
			return
		}
		if len(entry.IDs) > 0 || entry.Query != "" || entry.Priority == layers.PriorityRecent || entry.Priority == layers.PriorityRelevant {
			requests.Retrieve = append(requests.Retrieve, entry)
		}
	}
	if value.Kind() == '[' {
		eachItem(value, one)
	} else if text, ok := textOf(value); !ok || !nothing(text) {
		one(value)
	}
	r.over(nameRetrieve, over)
}

// readEntry reads one entry of retrieveConversations. What does not fit takes
// its default.
func (r *reader) readEntry(at string, value jsontext.Value) layers.Retrieve {
	var entry layers.Retrieve
	eachMember(value, func(name string, value jsontext.Value) {
		text, plain := textOf(value)
		text = strings.TrimSpace(text)
		switch name {
		case nameIDs, nameCallID:
			r.asks(at+"."+nameIDs, value, maxName, &entry.IDs)
		case nameFormat:
			entry.Format = layers.Detail(strings.ToLower(text))
		case namePriority:
			entry.Priority = strings.ToLower(text)
		case nameQuery:
			if !plain {
				r.misfit(PartRequests, at+"."+nameQuery, "a string", value)
			} else if len(text) > maxTopic {
				r.problem(PartRequests, at+"."+nameQuery+": only the first "+strconv.Itoa(maxTopic)+" bytes are used")
				text = strings.ToValidUTF8(text[:maxTopic], "")
			}
			entry.Query = text
		case nameCursor:
			entry.Cursor = text
		case nameLimit:
			number, err := strconv.ParseFloat(text, 64)
			if text == "" && plain {
				return
			}
			if err != nil || number != float64(int32(number)) {
				r.problem(PartRequests, at+"."+nameLimit+": must be a whole number")
				return
			}
			entry.Limit = int(number)
		}
	})
	for _, message := range entry.Correct() {
		r.problem(PartRequests, at+"."+message)
	}
	return entry
}
