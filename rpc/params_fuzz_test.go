package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// FuzzParams sends any parameters to any method of a real server. Each is
// answered, with a result or with an error that is not the server's own fault.
func FuzzParams(f *testing.F) {
	client := rpc.NewClient(f.Context(), rpc.ServeInside(rpc.Options{Backend: rpc.NewBackend(rpc.BackendOptions{DataDir: f.TempDir(), NoIndex: true})}), rpc.ClientOptions{})
	f.Cleanup(func() {
		_ = client.Shutdown(context.Background())
		_ = client.Close() // waits for the server, which still writes as it closes
	})
	if _, err := client.Initialize(f.Context(), rpc.InitializeParams{ClientName: "fuzz"}); err != nil {
		f.Fatal(err)
	}
	open := wire.SessionOpenParams{Workspace: wire.Workspace{URI: "file:///work"}, Session: "s"}
	begin := func(ctx context.Context) error { return client.Call(ctx, wire.MethodSessionOpen, open, nil) }
	if err := begin(f.Context()); err != nil {
		f.Fatal(err)
	}
	var methods []wire.Method
	for _, m := range wire.Methods() {
		if m.Direction == wire.ClientToServer && m.Class != wire.ClassEvent {
			methods = append(methods, m)
		}
	}
	for i, m := range methods {
		example := reflect.New(m.Params).Interface()
		text, err := json.Marshal(example)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), string(text))
		f.Add(uint8(i), `{"session":"s","conversation":"c1","turn":1,"query":"reader","text":"x","turns":[{"role":"user","text":"reader"}],"budget":{"total":3000},"checksum":"00","limit":-1,"cursor":"1@1","asOf":1}`)
	}
	f.Fuzz(func(t *testing.T, which uint8, params string) {
		if !json.Valid([]byte(params)) {
			return // FuzzServe's
		}
		m := methods[int(which)%len(methods)]
		if m.Name == wire.MethodSessionOpen || m.Name == wire.MethodSessionClose || m.Name == wire.MethodWorkspaceErase {
			// A workspace for each text would fill the disk; the session is needed.
			var p map[string]json.RawMessage
			if json.Unmarshal([]byte(params), &p) == nil && p != nil {
				p["workspace"] = json.RawMessage(`{"uri":"file:///work"}`)
				text, err := json.Marshal(p)
				if err != nil {
					t.Fatal(err)
				}
				params = string(text)
			}
			defer func() {
				if err := begin(t.Context()); err != nil {
					t.Errorf("open again: %v", err)
				}
			}()
		}
		err := client.Call(t.Context(), m.Name, json.RawMessage(params), nil)
		var remote *rpc.Error
		if err != nil && (!errors.As(err, &remote) || remote.Code == wire.CodeInternalError || remote.Data.Kind == "") {
			t.Fatalf("%s %s: %v", m.Name, params, err)
		}
	})
}
