package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hexapla/rpc/wire"
)

// outsideSets returns where a value of the wire has a string that its type's
// closed set does not list.
func outsideSets(v reflect.Value, path string) []string {
	var found []string
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			found = outsideSets(v.Elem(), path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			found = append(found, outsideSets(v.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field, at := v.Type().Field(i), path+"."+v.Type().Field(i).Name
			if set := field.Tag.Get("enum"); set != "" && field.Type.Kind() == reflect.String {
				if value := v.Field(i).String(); value != "" && !slices.Contains(strings.Split(set, ","), value) {
					found = append(found, at+" is "+value)
				}
				continue
			}
			found = append(found, outsideSets(v.Field(i), at)...)
		}
	}
	return found
}

// TestPacksKeepToTheClosedSets: what packs of many sizes have in them is listed
// in the protocol: sections, details, reasons.
func TestPacksKeepToTheClosedSets(t *testing.T) {
	t.Parallel()
	c := startChild(t, t.TempDir())
	defer c.stop()
	recordStory(c, 17)
	sections := map[string]bool{}
	for total := 600; total < 40000; total += total / 3 {
		for _, fill := range []bool{false, true} {
			built := call[wire.PackBuildResult](c, wire.MethodPackBuild, wire.PackBuildParams{
				Session: "s", Budget: wire.Budget{Total: total}, Fill: fill,
			})
			var pack wire.Pack
			if err := json.Unmarshal(built.Pack, &pack); err != nil {
				t.Fatal(err)
			}
			for _, fault := range outsideSets(reflect.ValueOf(pack), "pack") {
				t.Errorf("%d: %s", total, fault)
			}
			for _, s := range pack.Sections {
				sections[s.Name] = true
			}
		}
	}
	for _, name := range []string{"currentContext", "headers", "names", "activeMemory"} {
		if !sections[name] {
			t.Errorf("no pack has a section %s; the test sees too little", name)
		}
	}
}
