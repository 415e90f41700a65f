package tool

import (
	"encoding/json"
	"strings"
	"testing"

	"sunaba/fault"
)

func TestArguments(t *testing.T) {
	const fits = ""
	tests := []struct {
		name, tool, raw string
		want            string // the fitted object, or …
		reason, detail  string // … the case of tool.arguments and what its facts contain
	}{
		{"as asked", ReadFile, `{"path":"a","offset":3}`, `{"offset":3,"path":"a"}`, fits, ""},
		{"alias file_path", ReadFile, `{"file_path":"a"}`, `{"path":"a"}`, fits, ""},
		{"alias directory", ListFiles, `{"directory":"a"}`, `{"path":"a"}`, fits, ""},
		{"the same twice is fine", ReadFile, `{"file_path":"a","path":"a"}`, `{"path":"a"}`, fits, ""},
		{"no alias where there is no path", MoveFile, `{"file_path":"a","to":"b"}`, "", "unknown", "file_path"},
		{"a number as text", ReadFile, `{"path":"a","limit":" 10 "}`, `{"limit":10,"path":"a"}`, fits, ""},
		{"a whole number with a point", ReadFile, `{"path":"a","limit":1e1}`, `{"limit":10,"path":"a"}`, fits, ""},
		{"a huge number is clamped", RunCommand, `{"command":"x","timeout_seconds":1e300}`, `{"command":"x","timeout_seconds":9007199254740992}`, fits, ""},
		{"a boolean as text", FindFiles, `{"pattern":"*","no_ignore":"True"}`, `{"no_ignore":true,"pattern":"*"}`, fits, ""},
		{"null where it is optional", ReadFile, `{"path":"a","limit":null}`, `{"path":"a"}`, fits, ""},
		{"a text that looks like a list stays a text", WriteFile, `{"path":"a","content":"[1,2]"}`, `{"content":"[1,2]","path":"a"}`, fits, ""},
		{"a list as text", RunCommand, `{"argv":"[\"ls\",\"-l\"]"}`, `{"argv":["ls","-l"]}`, fits, ""},
		{"numbers in a list of texts", RunCommand, `{"argv":["head","-n",5]}`, `{"argv":["head","-n","5"]}`, fits, ""},
		{"nothing at all", ListFiles, ``, `{}`, fits, ""},

		{"nothing, where something is needed", ReadFile, ``, "", "missing", "path"},
		{"null where it is needed", ReadFile, `{"path":null}`, "", "missing", "path"},
		{"missing", EditFile, `{"path":"a","old_string":"b"}`, "", "missing", "new_string"},
		{"unknown, with the nearest", ReadFile, `{"path":"a","ofset":1}`, "", "unknown_near", "offset"},
		{"unknown, with what is known", ReadFile, `{"path":"a","sandbox":false}`, "", "unknown", "path: string, offset?: integer"},
		{"no switch can be invented", RunCommand, `{"argv":["x"],"env":{"SANDBOX":"0"}}`, "", "unknown", "env"},
		{"twice with different values", ReadFile, `{"path":"a","file_path":"b"}`, "", "twice", "path"},
		{"a number for a text", WriteFile, `{"path":"a","content":42}`, "", "type", "number"},
		{"an object for a text", WriteFile, `{"path":"a","content":{"k":1}}`, "", "type", "object"},
		{"a word for a number", ReadFile, `{"path":"a","limit":"60s"}`, "", "type", "integer"},
		{"a part for a whole number", ReadFile, `{"path":"a","limit":1.5}`, "", "type", "integer"},
		{"hexadecimal", ReadFile, `{"path":"a","limit":"0x10"}`, "", "type", "integer"},
		{"a number for a boolean", FindFiles, `{"pattern":"*","no_ignore":1}`, "", "type", "boolean"},
		{"a line for a list", RunCommand, `{"argv":"ls -l"}`, "", "type", "array"},
		{"a list with an object in it", RunCommand, `{"argv":["ls",{}]}`, "", "type", "array of strings"},
		{"not one of the words", SearchFile, `{"pattern":"x","mode":"lines"}`, "", "type", "content | files | count"},

		{"cut", WriteFile, `{"path":"a","content":"x`, "", "syntax", "24"},
		{"a comma too much", ReadFile, `{"path":"a",}`, "", "syntax", "13"},
		{"a bad escape", WriteFile, `{"path":"C:\dir"}`, "", "syntax", "13"},
		{"two objects", ReadFile, `{"path":"a"}{"path":"b"}`, "", "syntax", "13"},
		{"not UTF-8", ReadFile, "{\"path\":\"\xff\"}", "", "syntax", "10"},
		{"null", ReadFile, `null`, "", "object", "null"},
		{"a list", ReadFile, `[1]`, "", "object", "array"},
		{"a text", ReadFile, `"{}"`, "", "object", "string"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Arguments(specOf(tt.tool), json.RawMessage(tt.raw))
			if tt.reason == fits {
				if err != nil || string(got) != tt.want {
					t.Fatalf("%s, %v; want %s", got, err, tt.want)
				}
				return
			}
			e := AsFault(err)
			if err == nil || e.Code != fault.ToolArguments || e.Args[Case] != tt.reason || !strings.Contains(e.Error(), tt.detail) {
				t.Fatalf("%s, %v; want case %s with %q", got, err, tt.reason, tt.detail)
			}
			checkResult(t, Fail(NoScope, err))
		})
	}
}

func FuzzArguments(f *testing.F) {
	f.Add(ReadFile, `{"path":"a","limit":"1"}`)
	f.Add(RunCommand, `{"argv":"[1]"}`)
	f.Fuzz(func(t *testing.T, name, raw string) {
		for _, s := range Catalogue() {
			if got, err := Arguments(s, json.RawMessage(raw)); err == nil {
				if again, err := Arguments(s, got); err != nil || string(again) != string(got) {
					t.Errorf("%s is not stable: %s, %v", got, again, err)
				}
			}
		}
	})
}
