package gen

import (
	"fmt"
	"strings"

	"hexapla/rpc/wire"
)

// lua is editors/nvim/lua/hexapla/_meta/protocol.lua: classes for the Lua
// language server, never run.
func lua(src *source, methods []wire.Method) []byte {
	var b strings.Builder
	b.WriteString("---@meta\n-- " + generatedBy + "\n\n" +
		"error('hexapla._meta.protocol holds types for the Lua language server; it cannot be required')\n")
	for _, direction := range []wire.Direction{wire.ClientToServer, wire.ServerToClient} {
		name, about := "hexapla.Method", "Requests of a client."
		if direction == wire.ServerToClient {
			name, about = "hexapla.Event", "Notifications of the server."
		}
		fmt.Fprintf(&b, "\n---%s\n---@alias %s\n", about, name)
		for _, m := range methods {
			if m.Direction == direction {
				fmt.Fprintf(&b, "---| %q # %s\n", m.Name, m.Doc)
			}
		}
	}
	for _, one := range src.used() {
		b.WriteString("\n")
		luaComment(&b, one.doc)
		fmt.Fprintf(&b, "---@alias hexapla.%s\n", one.name)
		for _, v := range one.values {
			fmt.Fprintf(&b, "---| %q\n", v)
		}
	}
	for _, st := range src.structs {
		b.WriteString("\n")
		luaComment(&b, st.doc)
		fmt.Fprintf(&b, "---@class hexapla.%s", st.name)
		for i, name := range st.embeds {
			sep := ", "
			if i == 0 {
				sep = " : "
			}
			b.WriteString(sep + "hexapla." + name)
		}
		b.WriteString("\n")
		for _, m := range st.fields {
			mark := ""
			if m.optional {
				mark = "?"
			}
			fmt.Fprintf(&b, "---@field %s%s %s # %s\n", m.name, mark, luaType(m), strings.ReplaceAll(m.doc, "\n\n", " "))
		}
	}
	return []byte(b.String())
}

func luaComment(b *strings.Builder, doc string) {
	for _, line := range wrap(doc, 95) {
		b.WriteString(strings.TrimRight("---"+line, " ") + "\n")
	}
}

func luaType(m member) string {
	if m.values == nil {
		return luaShape(m.kind)
	}
	quoted := make([]string, len(m.values))
	for i, v := range m.values {
		quoted[i] = `"` + v + `"`
	}
	return strings.Join(quoted, "|")
}

func luaShape(k shape) string {
	switch k.base {
	case "array":
		if k.of.base == "oneOf" {
			return "(" + luaShape(*k.of) + ")[]"
		}
		return luaShape(*k.of) + "[]"
	case "oneOf":
		var types []string
		for _, base := range k.bases {
			types = append(types, luaShape(shape{base: base}))
		}
		return strings.Join(types, "|")
	case "map":
		return "table<string, " + luaShape(*k.of) + ">"
	case "ref":
		return "hexapla." + k.name
	case "decimal":
		return "number"
	}
	return k.base
}
