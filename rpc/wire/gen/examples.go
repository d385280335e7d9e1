package gen

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"hexapla/rpc/wire"
)

// ExamplesFolder is where the examples are, one file a message. order.txt in
// it lists them in the order in which the test of cmd/hexapla sends them to a
// server.
const ExamplesFolder = "testdata/protocol/examples"

// Example is a request with its answer, or an event.
type Example struct {
	Path   string          `json:"-"` // from the repository's root
	Title  string          `json:"title"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *ExampleError   `json:"error,omitempty"`
}

// ExampleError is the error member of a response.
type ExampleError struct {
	Code    wire.Code       `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// Kind returns the case of the error; "" if the example is none.
func (e Example) Kind() wire.Kind {
	var data wire.ErrorData
	if e.Error != nil && json.Unmarshal(e.Error.Data, &data) != nil {
		return ""
	}
	return data.Kind
}

// WellFormed tells that the parameters have the form of the method's type.
func (e Example) WellFormed() bool { return e.Kind() != wire.KindInvalidParams }

// Name is the path within the folder of examples without its ending, such as
// "pack-build/first".
func (e Example) Name() string {
	return strings.TrimSuffix(strings.TrimPrefix(e.Path, ExamplesFolder+"/"), ".json")
}

// Folder returns the folder of a method's examples: the noun and the verb.
func Folder(method string) string {
	rest, own := strings.CutPrefix(method, "hexapla/")
	if !own {
		return "lifecycle"
	}
	return strings.ReplaceAll(rest, "/", "-")
}

// ReadExamples reads the examples in the order of order.txt. Every file of the
// folder must be listed once.
func ReadExamples(root fs.FS) ([]Example, error) {
	order, err := fs.ReadFile(root, ExamplesFolder+"/order.txt")
	if err != nil {
		return nil, err
	}
	var out []Example
	listed := map[string]bool{}
	for line := range strings.Lines(string(order)) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name := path.Join(ExamplesFolder, line+".json")
		if listed[name] {
			return nil, fmt.Errorf("order.txt lists %s twice", line)
		}
		listed[name] = true
		raw, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		ex := Example{Path: name}
		if err := json.Unmarshal(raw, &ex); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if folder := path.Base(path.Dir(name)); folder != Folder(ex.Method) && folder != "lifecycle" {
			return nil, fmt.Errorf("%s holds an example of %s", name, ex.Method)
		}
		out = append(out, ex)
	}
	err = fs.WalkDir(root, ExamplesFolder, func(name string, d fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".json" && !listed[name] {
			return fmt.Errorf("order.txt does not list %s", name)
		}
		return err
	})
	return out, err
}

// Format returns the bytes of an example's file.
func (e Example) Format() ([]byte, error) {
	raw, err := marshal(e)
	if err != nil {
		return nil, err
	}
	return append(FormatJSON(raw), '\n'), nil
}
