// Package trace writes what was done to a file, as spans in OpenTelemetry's JSON
// form: one line for each span, each a whole ExportTraceServiceRequest of OTLP, as
// collectors' file receivers read it.
//
// It guarantees:
//   - a span is one write to the end of the file, so that processes may share one;
//   - the file and one before it are all there is, each of about MaxBytes;
//   - the file lies in the folder that is given and is no link: names are checked;
//   - nothing is sent anywhere.
//
// It knows no content: what spans say is the caller's to choose. A span that cannot
// be written is an error, and lost; nothing waits for the disk.
package trace

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
)

// MaxBytes is how large a file becomes before the next one is begun.
const MaxBytes = 64 << 20

// maxName bounds the name of a file, in bytes.
const maxName = 100

// ErrName says that a name of a file cannot be used.
var ErrName = errors.New("must be a name of at most 100 letters, digits, points, hyphens and underscores, and must not begin with a point")

// CheckName tells whether a file may have a name: it leads to no other folder.
func CheckName(name string) error {
	if name == "" || len(name) > maxName || name[0] == '.' {
		return ErrName
	}
	for _, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '-', c == '_':
		default:
			return ErrName
		}
	}
	return nil
}

// ID names a span: its trace and itself.
type ID struct {
	Trace [16]byte
	Span  [8]byte
}

// Attribute says one thing of a span or an event. Value is a string, an int64, a
// float64 or a bool.
type Attribute struct {
	Name  string
	Value any
}

// Event is something in a span.
type Event struct {
	Name       string
	Time       int64 // Unix ns
	Attributes []Attribute
}

// Span is something that was done.
type Span struct {
	ID         ID
	Parent     [8]byte // of the same trace; zero for none
	Name       string
	Start, End int64 // Unix ns
	Attributes []Attribute
	Events     []Event
	Failed     string // why; "" where it did not
}

// Append writes a span to the end of the file of a name in a folder, which is made
// if need be.
func Append(dir, name, version string, span Span) error {
	if err := CheckName(name); err != nil {
		return fmt.Errorf("trace file: %w", err)
	}
	line, err := span.line(version)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Lstat(name)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return errors.New("trace file: is no regular file")
	case err == nil && info.Size() >= MaxBytes:
		if err := root.Rename(name, name+".1"); err != nil {
			return err
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Close())
}

// What follows is OTLP's JSON: numbers of 64 bits are texts, ids are hexadecimal.

type attribute struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

type event struct {
	TimeUnixNano string      `json:"timeUnixNano"`
	Name         string      `json:"name"`
	Attributes   []attribute `json:"attributes,omitempty"`
}

type status struct {
	Code    int    `json:"code"` // 1 for done, 2 for failed
	Message string `json:"message,omitempty"`
}

type otlpSpan struct {
	TraceID      string      `json:"traceId"`
	SpanID       string      `json:"spanId"`
	ParentSpanID string      `json:"parentSpanId,omitempty"`
	Name         string      `json:"name"`
	Kind         int         `json:"kind"`
	Start        string      `json:"startTimeUnixNano"`
	End          string      `json:"endTimeUnixNano"`
	Attributes   []attribute `json:"attributes,omitempty"`
	Events       []event     `json:"events,omitempty"`
	Status       status      `json:"status"`
}

type scope struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type scopeSpans struct {
	Scope scope      `json:"scope"`
	Spans []otlpSpan `json:"spans"`
}

type resource struct {
	Attributes []attribute `json:"attributes"`
}

type resourceSpans struct {
	Resource   resource     `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`
}

// kindInternal is OTLP's SPAN_KIND_INTERNAL.
const kindInternal = 1

func (s *Span) line(version string) ([]byte, error) {
	out := otlpSpan{
		TraceID: hex.EncodeToString(s.ID.Trace[:]), SpanID: hex.EncodeToString(s.ID.Span[:]), Name: s.Name, Kind: kindInternal,
		Start: strconv.FormatInt(s.Start, 10), End: strconv.FormatInt(s.End, 10), Attributes: attributesOf(s.Attributes), Status: status{Code: 1},
	}
	if s.Parent != ([8]byte{}) {
		out.ParentSpanID = hex.EncodeToString(s.Parent[:])
	}
	if s.Failed != "" {
		out.Status = status{2, s.Failed}
	}
	for _, e := range s.Events {
		out.Events = append(out.Events, event{strconv.FormatInt(e.Time, 10), e.Name, attributesOf(e.Attributes)})
	}
	line, err := json.Marshal(map[string]any{"resourceSpans": []resourceSpans{{
		Resource:   resource{attributesOf([]Attribute{{"service.name", "hexapla"}})},
		ScopeSpans: []scopeSpans{{scope{"hexapla", version}, []otlpSpan{out}}},
	}}})
	return append(line, '\n'), err
}

func attributesOf(list []Attribute) (out []attribute) {
	for _, a := range list {
		value := map[string]any{}
		switch v := a.Value.(type) {
		case int64:
			value["intValue"] = strconv.FormatInt(v, 10)
		case float64:
			value["doubleValue"] = v
		case bool:
			value["boolValue"] = v
		default:
			value["stringValue"] = fmt.Sprint(v)
		}
		out = append(out, attribute{a.Name, value})
	}
	return out
}
