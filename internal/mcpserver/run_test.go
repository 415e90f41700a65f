package mcpserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sunaba/fault"
	"sunaba/internal/session"
)

// run and status call a tool without a transport.
func run(t *testing.T, s *Server, args string) *mcp.CallToolResult {
	t.Helper()
	return invoke(t, s.agentRun, args)
}

func status(t *testing.T, s *Server, args string) *mcp.CallToolResult {
	t.Helper()
	return invoke(t, s.agentStatus, args)
}

func invoke(t *testing.T, h mcp.ToolHandler, args string) *mcp.CallToolResult {
	t.Helper()
	res, err := h(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Arguments: json.RawMessage(args)}})
	if err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	return res
}

func textOf(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("%d contents", len(r.Content))
	}
	return r.Content[0].(*mcp.TextContent).Text
}

func structured(t *testing.T, r *mcp.CallToolResult, into any) string {
	t.Helper()
	raw, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Covers: MCP-RUN-01, MCP-RUN-02, MCP-RUN-03, MCP-RUN-04
func TestRunAccepts(t *testing.T) {
	two, warm := 2.0, 0.7
	picture := base64.StdEncoding.EncodeToString([]byte("a picture"))
	tests := []struct {
		name, args string
		want       session.Request
	}{
		{"plain", `{"request":"fix the test"}`, session.Request{Text: "fix the test"}},
		{"kept as it is", `{"request":" 直して\n🎈 "}`, session.Request{Text: " 直して\n🎈 "}},
		{"a list as text stays text", `{"request":"[\"a\",\"b\"]"}`, session.Request{Text: `["a","b"]`}},
		{"session", `{"request":"x","session_id":"` + strings.ToUpper(sessionID) + `"}`, session.Request{Text: "x", SessionID: sessionID}},
		{"empty and null mean not given", `{"request":"x","session_id":"","temperature":null,"images":null,"client_request_id":""}`, session.Request{Text: "x"}},
		{"temperature", `{"request":"x","temperature":0.7}`, session.Request{Text: "x", Temperature: &warm}},
		{"temperature as text", `{"request":"x","temperature":" 2 "}`, session.Request{Text: "x", Temperature: &two}},
		{"client's id", `{"request":"x","client_request_id":"abc-1"}`, session.Request{Text: "x", ClientRequestID: "abc-1"}},
		{"no images", `{"request":"x","images":[]}`, session.Request{Text: "x", Images: []session.Image{}}},
		{"image", `{"request":"x","images":[{"mime_type":"IMAGE/png","data":"` + picture + `"}]}`,
			session.Request{Text: "x", Images: []session.Image{{MIMEType: "image/png", Data: []byte("a picture")}}}},
		{"image with line breaks", `{"request":"x","images":[{"mime_type":"image/jpeg","data":"` + picture[:4] + `\r\n` + picture[4:] + `"}]}`,
			session.Request{Text: "x", Images: []session.Image{{MIMEType: "image/jpeg", Data: []byte("a picture")}}}},
		{"at the limit", `{"request":"` + strings.Repeat("x", maxRequestText) + `"}`, session.Request{Text: strings.Repeat("x", maxRequestText)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			jobs := newFakeJobs()
			res := run(t, New(Config{Jobs: jobs, Texts: locale(t, "en")}), tt.args)
			if res.IsError {
				t.Fatalf("refused: %s", textOf(t, res))
			}
			if diff := cmp.Diff([]session.Request{tt.want}, jobs.accepted()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is not right is refused before anything is queued, in one sentence that
// names the argument and never repeats its value.
//
// Covers: MCP-RUN-01, MCP-RUN-04, MCP-RUN-05
func TestRunRefuses(t *testing.T) {
	const secret = "my-secret"
	image := func(mime string, bytes int) string {
		return `{"mime_type":"` + mime + `","data":"` + base64.StdEncoding.EncodeToString(make([]byte, bytes)) + `"}`
	}
	tests := []struct{ name, args, want string }{
		{"nothing", `{}`, "argument request is required"},
		{"null request", `{"request":null}`, "argument request is required"},
		{"empty request", `{"request":""}`, "request must not be empty"},
		{"blank request", `{"request":" \n\t　"}`, "request must not be empty"},
		{"number", `{"request":5}`, "request must be of type string, but number was sent"},
		{"list", `{"request":["my-secret"]}`, "type string, but array"},
		{"too long", `{"request":"` + strings.Repeat("my-secret", maxRequestText/8) + `"}`, "longer than 1048576 bytes"},
		{"unknown field", `{"request":"my-secret","model":"my-secret"}`, "no argument model; the known ones are: request, session_id, temperature, images, client_request_id"},
		{"typo", `{"reqest":"my-secret"}`, "no argument reqest"},
		{"a field in other case", `{"Request":"my-secret"}`, "no argument Request"},
		{"unknown null field", `{"request":"x","system_prompt":null}`, "no argument system_prompt"},
		{"session no UUID", `{"request":"x","session_id":"my-secret"}`, "session_id must be a UUID"},
		{"session in braces", `{"request":"x","session_id":"{` + sessionID + `}"}`, "session_id must be a UUID"},
		{"session number", `{"request":"x","session_id":7}`, "session_id must be of type string"},
		{"hot", `{"request":"x","temperature":2.1}`, "temperature must be a number from 0 to 2"},
		{"cold", `{"request":"x","temperature":-0.1}`, "temperature must be a number from 0 to 2"},
		{"infinite", `{"request":"x","temperature":1e999}`, "temperature must be a number from 0 to 2"},
		{"not a number", `{"request":"x","temperature":"NaN"}`, "temperature must be of type number, but string"},
		{"temperature word", `{"request":"x","temperature":"my-secret"}`, "temperature must be of type number, but string"},
		{"temperature bool", `{"request":"x","temperature":true}`, "temperature must be of type number, but boolean"},
		{"images as text", `{"request":"x","images":"[]"}`, "images must be of type array, but string"},
		{"image as text", `{"request":"x","images":["my-secret"]}`, "images[0] must be of type object, but string"},
		{"image without type", `{"request":"x","images":[{"data":"bXk="}]}`, "images[0].mime_type must be one of"},
		{"image of other type", `{"request":"x","images":[{"mime_type":"text/my-secret","data":"bXk="}]}`, "images[0].mime_type must be one of: image/png"},
		{"image without data", `{"request":"x","images":[{"mime_type":"image/png"}]}`, "images[0].data is required"},
		{"image of nothing", `{"request":"x","images":[{"mime_type":"image/png","data":""}]}`, "images[0].data must be an image in base64"},
		{"image not base64", `{"request":"x","images":[{"mime_type":"image/png","data":"my-secret!"}]}`, "images[0].data must be an image in base64"},
		{"image with more", `{"request":"x","images":[{"mime_type":"image/png","data":"bXk=","url":"my-secret"}]}`, "no argument images[0].url"},
		{"too many images", `{"request":"x","images":[` + strings.Repeat(image("image/png", 1)+",", 2) + image("image/png", 1) + `]}`, "At most 2 images can be sent, but 3"},
		{"one too large", `{"request":"x","images":[` + image("image/png", 301) + `]}`, "images[0] must not be larger than 300 bytes"},
		{"one far too large", `{"request":"x","images":[` + image("image/png", 3000) + `]}`, "images[0] must not be larger than 300 bytes"},
		{"together too large", `{"request":"x","images":[` + image("image/png", 300) + `,` + image("image/png", 300) + `]}`, "must not be larger than 500 bytes"},
		{"client's id too long", `{"request":"x","client_request_id":"` + strings.Repeat("a", 129) + `"}`, "client_request_id must not be longer than 128"},
		{"client's id hides something", `{"request":"x","client_request_id":"a\u202eb"}`, "client_request_id must not contain"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			jobs := newFakeJobs()
			s := New(Config{Jobs: jobs, Texts: locale(t, "en"), Limits: Limits{MaxImages: 2, MaxImageBytes: 300, MaxRequestBytes: 500}})
			res := run(t, s, tt.args)
			var facts struct{ Error errorFacts }
			raw := structured(t, res, &facts)
			if !res.IsError || facts.Error.Code != fault.MCPInput || !strings.Contains(textOf(t, res), tt.want) || facts.Error.Message != textOf(t, res) {
				t.Errorf("got %s %s", textOf(t, res), raw)
			}
			if strings.Contains(textOf(t, res)+raw, secret) {
				t.Errorf("repeats the input: %.200s", raw)
			}
			if n := len(jobs.accepted()); n != 0 {
				t.Errorf("%d requests queued", n)
			}
		})
	}
}

// Arguments that are no object are an error of the protocol (mcp.types).
func TestArgumentsMustBeAnObject(t *testing.T) {
	s := New(Config{Jobs: newFakeJobs(), Texts: locale(t, "en")})
	for _, h := range []mcp.ToolHandler{s.agentRun, s.agentStatus} {
		for _, args := range []string{`null`, `[]`, `"my-secret"`, `5`, `true`} {
			_, err := h(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Arguments: json.RawMessage(args)}})
			if e, ok := errors.AsType[*jsonrpc.Error](err); !ok || e.Code != -32602 || strings.Contains(e.Message, "secret") {
				t.Errorf("%s: %v", args, err)
			}
		}
		res := invoke(t, h, "")
		if !res.IsError || !strings.Contains(textOf(t, res), "is required") {
			t.Errorf("missing arguments: %s", textOf(t, res))
		}
	}
}

// Covers: MCP-RUN-04, AT-06
func TestRunImagesAndTheModel(t *testing.T) {
	const args = `{"request":"x","images":[{"mime_type":"image/png","data":"bXk="}]}`
	answer := func(sees bool, err error) func(context.Context) (bool, error) {
		return func(context.Context) (bool, error) { return sees, err }
	}
	hangs := func(ctx context.Context) (bool, error) { <-ctx.Done(); return false, ctx.Err() }
	tests := []struct {
		name   string
		vision func(context.Context) (bool, error)
		args   string
		queued int
	}{
		{"sees", answer(true, nil), args, 1},
		{"blind", answer(false, nil), args, 0},
		{"blind, but no image", answer(false, nil), `{"request":"x"}`, 1},
		{"not known", answer(false, errors.New("no answer")), args, 1},
		{"not asked", nil, args, 1},
		{"no answer in time", hangs, args, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			jobs := newFakeJobs()
			res := run(t, New(Config{Jobs: jobs, Texts: locale(t, "ja"), Vision: tt.vision}), tt.args)
			if len(jobs.accepted()) != tt.queued {
				t.Fatalf("%d queued, want %d: %s", len(jobs.accepted()), tt.queued, textOf(t, res))
			}
			if tt.queued == 0 && (!res.IsError || !strings.Contains(structured(t, res, new(any)), "llm.no_vision")) {
				t.Errorf("got %s", textOf(t, res))
			}
		})
	}
}

// Covers: S1-059
func TestRunRefusedByTheQueue(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		code fault.Code
	}{
		"unknown session": {fault.New(fault.MCPUnknownSession, "submit", "session", sessionID), fault.MCPUnknownSession},
		"no code":         {errors.New("my-secret detail"), fault.MCPInternal},
		"of the files":    {fault.New(fault.FSOutOfScope, "submit", "path", "/my-secret"), fault.AgentDenied},
		"of the settings": {fault.New(fault.ConfigValue, "submit", "path", "/my-secret"), fault.AgentFailed},
	} {
		t.Run(name, func(t *testing.T) {
			jobs := newFakeJobs()
			jobs.submitErr = tt.err
			res := run(t, New(Config{Jobs: jobs, Texts: locale(t, "en")}), `{"request":"x"}`)
			var facts struct{ Error errorFacts }
			raw := structured(t, res, &facts)
			if !res.IsError || facts.Error.Code != tt.code || strings.Contains(raw, "secret") {
				t.Errorf("got %s", raw)
			}
		})
	}
}
