package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const minimal = "schema_version: 2\nsandbox: {workspace: {root: project}}\n"

// write puts the files into a new directory; a file is "name: content".
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func mustLoad(t *testing.T, base, local string) *Settings {
	t.Helper()
	files := map[string]string{"agent.yaml": base}
	if local != "" {
		files[LocalName] = local
	}
	s, err := Load(filepath.Join(write(t, files), "agent.yaml"))
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return s
}

// problems returns what is wrong with base as "line:column key code/reason".
func problems(t *testing.T, base string) []string {
	t.Helper()
	dir := write(t, map[string]string{"agent.yaml": base})
	_, err := Load(filepath.Join(dir, "agent.yaml"))
	if err == nil {
		return nil
	}
	all, ok := errors.AsType[*Problems](err)
	if !ok {
		t.Fatalf("%T is not *Problems", err)
	}
	var out []string
	for _, p := range all.List {
		if filepath.Dir(p.File) != dir {
			t.Errorf("problem in a file elsewhere: %s", p)
		}
		out = append(out, fmt.Sprintf("%d:%d %s %s/%s", p.Line, p.Column, p.Key, p.Code, p.Reason))
	}
	return out
}

// Covers: S1-207, S1-208, S1-214, S1-173, S1-183, S1-245, OLL-04, FS-09, SD-33
//
// Every way of being wrong, at its exact place. The twin of each row is the
// same file without the line: minimal itself loads (TestDefaults).
func TestProblems(t *testing.T) {
	const head = "schema_version: 2\nsandbox:\n  workspace: {root: p}\n" // the next line is 4
	tests := []struct {
		name, file string
		want       []string
	}{
		{"empty file", "", []string{"1:1 schema_version config.missing/version_missing", "1:1 sandbox.workspace.root config.missing/missing"}},
		{"comments only", "# nothing\n", []string{"1:1 schema_version config.missing/version_missing", "1:1 sandbox.workspace.root config.missing/missing"}},
		{"no root", "schema_version: 2\nsandbox:\n  workspace: {name: a}\n", []string{"3:14 sandbox.workspace.root config.missing/missing"}},
		{"a list", "- a\n", []string{"1:1  config.syntax/not_a_mapping"}},
		{"second document", head + "---\na: 1\n", []string{"4:1  config.second_document/second_document"}},
		{"syntax", head + "  scope: [\n", []string{"5:1  config.syntax/syntax"}},
		{"tab before a key", head + "\tprofile: readonly\n", []string{"4:1  config.syntax/tab"}},
		{"tab after spaces", head + "  mounts:\n  \t- {path: a}\n", []string{"5:3  config.syntax/tab"}},
		{"a character that starts nothing", head + "  profile: @x\n", []string{"4:12  config.syntax/syntax"}},
		{"bad escape", head + `  mounts: [{path: "C:\Users\u"}]`, []string{"4:24  config.syntax/escape"}},
		{"anchor and alias", head + "  mounts: [&m {path: a}, *m]\n", []string{
			"4:12 sandbox.mounts[0] config.syntax/anchor", "4:26 sandbox.mounts[1] config.syntax/alias",
		}},
		{"unknown alias", head + "  mounts: *m\n", []string{"4:11  config.syntax/alias"}},
		{"merge key", head + "  network: {<<: {mode: none}}\n", []string{"4:13 sandbox.network config.syntax/merge_key"}},
		{"tag", head + "  profile: !!str readonly\n", []string{"4:12 sandbox.profile config.syntax/tag"}},
		{"complex key", head + "  ? [a]\n  : 1\n", []string{"4:5 sandbox config.syntax/complex_key"}},
		{"not UTF-8", head + "  profile: \xff\n", []string{"4:12  config.syntax/not_utf8"}},
		{"NUL", head + "  profile: a\x00\n", []string{"4:13  config.syntax/control_character"}},
		{"escaped NUL", head + `  mounts: [{path: "a\0b"}]`, []string{"4:19 sandbox.mounts[0].path config.value/control"}},
		{"line break in a path", head + `  mounts: [{path: "a\nb"}]`, []string{"4:19 sandbox.mounts[0].path config.value/control"}},
		{"duplicate key", head + "  profile: readonly\n  profile: development\n", []string{"5:3 sandbox.profile config.duplicate_key/duplicate_key"}},
		{"unknown key", head + "zebra: 1\n", []string{"4:1 zebra config.unknown_key/unknown_key"}},
		{"misspelt key", head + "  netwrok: {}\n", []string{"4:3 sandbox.netwrok config.unknown_key/unknown_key_near"}},
		{"unknown key in a list item", head + "  mounts: [{path: a, acces: read_only}]\n", []string{"4:22 sandbox.mounts[0].acces config.unknown_key/unknown_key_near"}},
		{"empty value", head + "  profile:\n", []string{"4:11 sandbox.profile config.type/empty"}},
		{"null value", head + "  profile: ~\n", []string{"4:12 sandbox.profile config.type/empty"}},
		{"empty root", "schema_version: 2\nsandbox:\n  workspace:\n    root:\n", []string{"4:10 sandbox.workspace.root config.type/empty_required"}},
		{"empty workspace", "schema_version: 2\nsandbox:\n  workspace:\n", []string{"3:13 sandbox.workspace config.type/empty_required"}},
		{"empty sandbox", "schema_version: 2\nsandbox:\n", []string{"2:9 sandbox config.type/empty_required"}},
		{"empty path of an entry", head + "  execution: {entries: [{alias: a, path: }]}\n", []string{"4:42 sandbox.execution.entries[0].path config.type/empty_required"}},
		{"empty mapping", head + "  scope:\n", []string{"4:9 sandbox.scope config.type/empty"}},
		{"mapping wanted", head + "  network: none\n", []string{"4:12 sandbox.network config.type/want_mapping"}},
		{"list wanted", head + "  mounts: {path: a}\n", []string{"4:11 sandbox.mounts config.type/want_list"}},
		{"scalar wanted", head + "  profile: [readonly]\n", []string{"4:12 sandbox.profile config.type/want_scalar"}},
		{"word", head + "  profile: Readonly\n", []string{"4:12 sandbox.profile config.value/word"}},
		{"boolean word", head + "agent: {must_read_first: yes}\n", []string{"4:26 agent.must_read_first config.type/want_boolean"}},
		{"quoted boolean", head + "agent: {must_read_first: 'true'}\n", []string{"4:26 agent.must_read_first config.type/want_boolean"}},
		{"text that is a boolean elsewhere", head + "application: {language: no}\n", []string{"4:25 application.language config.type/quote"}},
		{"model on", head + "ollama: {model: on}\n", []string{"4:17 ollama.model config.type/quote"}},
		{"model 1.10", head + "ollama: {model: 1.10}\n", []string{"4:17 ollama.model config.type/quote"}},
		{"base 60", head + "ollama: {model: 12:30}\n", []string{"4:17 ollama.model config.type/quote"}},
		{"date", head + "ollama: {model: 2026-12-01}\n", []string{"4:17 ollama.model config.type/quote"}},
		{"octal", head + "agent: {max_tasks: 0755}\n", []string{"4:20 agent.max_tasks config.type/plain_integer"}},
		{"new octal", head + "agent: {max_tasks: 0o17}\n", []string{"4:20 agent.max_tasks config.type/plain_integer"}},
		{"hexadecimal", head + "agent: {max_tasks: 0x10}\n", []string{"4:20 agent.max_tasks config.type/plain_integer"}},
		{"underscore", head + "agent: {max_tasks: 1_0}\n", []string{"4:20 agent.max_tasks config.type/plain_integer"}},
		{"exponent", head + "agent: {max_tasks: 1e1}\n", []string{"4:20 agent.max_tasks config.type/plain_integer"}},
		{"fraction", head + "agent: {max_tasks: 1.5}\n", []string{"4:20 agent.max_tasks config.type/plain_integer"}},
		{"huge", head + "agent: {max_tasks: 99999999999999999999}\n", []string{"4:20 agent.max_tasks config.type/plain_integer"}},
		{"quoted number", head + "agent: {max_tasks: '3'}\n", []string{"4:20 agent.max_tasks config.type/want_integer"}},
		{"no number", head + "agent: {max_tasks: many}\n", []string{"4:20 agent.max_tasks config.type/want_integer"}},
		{"item is no mapping", head + "  mounts: [5]\n", []string{"4:12 sandbox.mounts[0] config.type/want_mapping"}},
		{"range", head + "agent: {max_tasks: 0}\n", []string{"4:20 agent.max_tasks config.value/range"}},
		{"number exponent", head + "ollama: {options: {temperature: 1e-1}}\n", []string{"4:33 ollama.options.temperature config.type/plain_number"}},
		{"number infinite", head + "ollama: {options: {top_p: .inf}}\n", []string{"4:27 ollama.options.top_p config.type/plain_number"}},
		{"number word", head + "ollama: {options: {top_p: hot}}\n", []string{"4:27 ollama.options.top_p config.type/want_number"}},
		{"number range", head + "ollama: {options: {top_p: 1.5}}\n", []string{"4:27 ollama.options.top_p config.value/range"}},
		{"size unit", head + "agent: {edit_memory_limit: 8MB}\n", []string{"4:28 agent.edit_memory_limit config.type/want_size"}},
		{"size negative", head + "agent: {edit_memory_limit: -8MiB}\n", []string{"4:28 agent.edit_memory_limit config.type/want_size"}},
		{"size overflow", head + "agent: {edit_memory_limit: 99999999999GiB}\n", []string{"4:28 agent.edit_memory_limit config.type/want_size"}},
		{"size range", head + "agent: {edit_memory_limit: 1}\n", []string{"4:28 agent.edit_memory_limit config.value/range"}},
		{"duration without unit", head + "approval: {timeout: 300}\n", []string{"4:21 approval.timeout config.type/want_duration"}},
		{"duration with underscore", head + "approval: {timeout: 1_000}\n", []string{"4:21 approval.timeout config.type/want_duration"}},
		{"duration negative", head + "approval: {timeout: -5m}\n", []string{"4:21 approval.timeout config.value/range"}},
		{"path empty", head + "  mounts: [{path: ''}]\n", []string{"4:19 sandbox.mounts[0].path config.value/empty_path"}},
		{"path variable", head + "  mounts: [{path: $UNSET_X/p}]\n", []string{"4:19 sandbox.mounts[0].path config.value/variable"}},
		{"path braces", head + "  mounts: [{path: '${HOME}/p'}]\n", []string{"4:19 sandbox.mounts[0].path config.value/variable"}},
		{"path tilde", head + "  mounts: [{path: ~/p}]\n", []string{"4:19 sandbox.mounts[0].path config.value/tilde"}},
		{"path missing", head + "  mounts: [{access: read_only}]\n", []string{"4:12 sandbox.mounts[0].path config.missing/missing"}},
		{"prompt missing", head + "agent: {user_system_prompt: nothing.md}\n", []string{"4:29 agent.user_system_prompt config.unreadable/absent"}},
		{"prompt a directory", head + "agent: {user_system_prompt: .}\n", []string{"4:29 agent.user_system_prompt config.unreadable/directory"}},
		{"language path", head + "application: {language: ../en}\n", []string{"4:25 application.language config.value/language"}},
		{"listen name", head + "mcp: {http: {listen: ['localhost:8765']}}\n", []string{"4:23 mcp.http.listen[0] config.value/listen_form"}},
		{"listen any", head + "mcp: {http: {listen: ['0.0.0.0:8765']}}\n", []string{"4:23 mcp.http.listen[0] config.value/listen_loopback"}},
		{"listen any six", head + "mcp: {http: {listen: ['[::]:8765']}}\n", []string{"4:23 mcp.http.listen[0] config.value/listen_loopback"}},
		{"listen mapped", head + "mcp: {http: {listen: ['[::ffff:127.0.0.1]:8765']}}\n", []string{"4:23 mcp.http.listen[0] config.value/listen_loopback"}},
		{"listen LAN", head + "mcp: {http: {listen: ['192.168.1.2:8765']}}\n", []string{"4:23 mcp.http.listen[0] config.value/listen_loopback"}},
		{"listen twice", head + "mcp: {http: {listen: ['127.0.0.1:1', '127.0.0.1:1']}}\n", []string{"4:38 mcp.http.listen[1] config.value/twice"}},
		{"listen none", head + "mcp: {http: {listen: []}}\n", []string{"4:22 mcp.http.listen config.value/listen_none"}},
		{"base URL", head + "ollama: {base_url: localhost}\n", []string{"4:20 ollama.base_url config.value/base_url"}},
		{"base URL with a password", head + "ollama: {base_url: 'http://a:b@h'}\n", []string{"4:20 ollama.base_url config.value/base_url_credentials"}},
		{"model", head + "ollama: {model: a b}\n", []string{"4:17 ollama.model config.value/model"}},
		{"think", head + "ollama: {think: no}\n", []string{"4:17 ollama.think config.value/word"}},
		{"stop", head + "ollama: {options: {stop: [a, a, '']}}\n", []string{"4:30 ollama.options.stop[1] config.value/stop", "4:33 ollama.options.stop[2] config.value/stop"}},
		{"unknown option", head + "ollama: {options: {topk: 1}}\n", []string{"4:20 ollama.options.topk config.unknown_key/unknown_key_near"}},
		{"extra option of a known name and a wrong type", head + "ollama: {extra_options: {top_k: hot}}\n", []string{"4:33 ollama.extra_options.top_k config.type/want_integer"}},
		{"free value", head + "ollama: {extra_options: {a: [no, 0x10]}}\n", []string{
			"4:30 ollama.extra_options.a[0] config.type/quote", "4:34 ollama.extra_options.a[1] config.type/quote",
		}},
		{"allowed commands", "schema_version: 2\nsandbox: {workspace: {root: p, properties: {allowed_commands: [no, y]}}}\n", []string{
			"2:64 sandbox.workspace.properties.allowed_commands[0] config.type/quote",
			"2:68 sandbox.workspace.properties.allowed_commands[1] config.type/quote",
		}},
		{"name empty", "schema_version: 2\nsandbox: {workspace: {root: p, name: ''}}\n", []string{"2:38 sandbox.workspace.name config.value/empty_text"}},
		{"allow alias", "schema_version: 2\nsandbox: {workspace: {root: p, policy: read}}\n", []string{"2:40 sandbox.workspace.policy config.value/allow_alias"}},
		{"rule without target", head + "  scope: {deny: [{permission: read}]}\n", []string{"4:18 sandbox.scope.deny[0].target config.missing/missing"}},
		{"rule glob", head + "  scope: {deny: [{target: '*.key'}]}\n", []string{"4:27 sandbox.scope.deny[0].target config.value/glob"}},
		{"rule braces", head + "  scope: {deny: [{target: '.env{,.local}'}]}\n", []string{"4:27 sandbox.scope.deny[0].target config.value/glob"}},
		{"delete without write", head + "  scope: {allow: [{target: ., delete: true}]}\n", []string{"4:39 sandbox.scope.allow[0].delete config.value/delete_without_write"}},
		{"delete in a deny", head + "  scope: {deny: [{target: a, delete: true}]}\n", []string{"4:30 sandbox.scope.deny[0].delete config.unknown_key/unknown_key"}},
		{"entry without path", head + "  execution: {entries: [{alias: a}]}\n", []string{"4:25 sandbox.execution.entries[0].path config.missing/missing"}},
		{"endpoints without mode", head + "  network: {endpoints: [{port: 1}]}\n", []string{"4:24 sandbox.network.endpoints config.value/endpoints_without_mode"}},
		{"local endpoint with host", head + "  network: {mode: local, endpoints: [{host: a, port: 1}]}\n", []string{
			"4:45 sandbox.network.endpoints[0].host config.value/endpoint_local",
		}},
		{"restricted endpoint without host", head + "  network: {mode: restricted, endpoints: [{port: 0}]}\n", []string{
			"4:43 sandbox.network.endpoints[0].host config.value/endpoint_restricted", "4:50 sandbox.network.endpoints[0].port config.value/range",
		}},
		{"mode without endpoints", head + "  network: {mode: restricted}\n", []string{"4:19 sandbox.network.mode config.value/endpoints_missing"}},
		{"endpoints empty", head + "  network: {mode: local, endpoints: []}\n", []string{"4:19 sandbox.network.mode config.value/endpoints_missing"}},
		{"endpoint twice", head + "  network: {mode: restricted, endpoints: [{host: A.example, port: 1}, {host: a.example., port: 1}, {host: a.example, port: 2}]}\n", []string{
			"4:71 sandbox.network.endpoints[1] config.value/endpoint_twice",
		}},
		{"channel twice", head + "approval: {channels: [local, local]}\n", []string{"4:30 approval.channels[1] config.value/twice"}},
		{"several at once", "schema_version: 2\nagent: {max_tasks: no}\nsandbox:\n  profil: readonly\nlogging: {level: loud}\n", []string{
			"2:20 agent.max_tasks config.type/want_integer",
			"4:3 sandbox.workspace.root config.missing/missing",
			"4:3 sandbox.profil config.unknown_key/unknown_key_near",
			"5:18 logging.level config.value/word",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := problems(t, tt.file)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// Covers: S1-208, SD-33
func TestOtherVersionsAndTools(t *testing.T) {
	tests := []struct {
		name, file string
		want       []string
	}{
		{"version 1", "schema_version: 1\nexecution:\n  executables: []\n  shells: []\nfilesystem: {}\nprocess: {approvals: []}\nother: 1\n", []string{
			"1:17 schema_version config.version/version_1",
			"3:3 execution.executables config.version/v1_executables",
			"4:3 execution.shells config.version/v1_shells",
			"5:1 filesystem config.version/v1_filesystem",
			"6:11 process.approvals config.version/v1_approvals",
		}},
		{"version 1 shapes under version 2", "schema_version: 2\nfilesystem: {}\nsandbox:\n  workspace: {root: p}\n  execution: {executables: [], entris: []}\n", []string{
			"2:1 filesystem config.version/v1_filesystem",
			"5:15 sandbox.execution.executables config.version/v1_executables",
			"5:32 sandbox.execution.entris config.unknown_key/unknown_key_near",
		}},
		{"version 3", "schema_version: 3\nnew: 1\n", []string{"1:17 schema_version config.version/version_unknown"}},
		{"version as text", "schema_version: '2'\nsandbox: {workspace: {root: p}}\nzebra: 1\n", []string{
			"1:17 schema_version config.type/version_form", "3:1 zebra config.unknown_key/unknown_key",
		}},
		{"version with a fraction", "schema_version: 2.0\nsandbox: {workspace: {root: p}}\n", []string{"1:17 schema_version config.type/version_form"}},
		{"version to come", "schema_version: 3\nzebra: 1\n", []string{"1:17 schema_version config.version/version_unknown"}},
		{"another tool", "kind: Agent\nspec: {}\n", []string{"1:7 kind config.foreign/foreign"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, problems(t, tt.file)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// Covers: S1-174
//
// What this version cannot do is refused with its place; the same key at its
// default is accepted (C-92).
func TestUnavailable(t *testing.T) {
	tests := []struct{ name, refused, accepted, want string }{
		{"allow_all", "sandbox: {workspace: {root: p, policy: allow_all}}", "sandbox: {workspace: {root: p, policy: deny_outside}}", "2:40 sandbox.workspace.policy config.unavailable/allow_all"},
		{"approve_outside", "sandbox: {workspace: {root: p, policy: approve_outside}}", "sandbox: {workspace: {root: p, policy: approve_outside}}\napproval: {channels: []}", "2:40 sandbox.workspace.policy config.unavailable/approve_outside"},
		{"client", "sandbox: {workspace: {root: p}}\napproval: {channels: [client]}", "sandbox: {workspace: {root: p}}\napproval: {channels: [local]}", "3:23 approval.channels[0] config.unavailable/channel_client"},
		{"skills", "sandbox: {workspace: {root: p}}\nskills: {directories: [a]}", "sandbox: {workspace: {root: p}}\nskills: {directories: []}", "3:23 skills.directories config.unavailable/skills"},
		{"compact_at", "sandbox: {workspace: {root: p}}\nagent: {compact_at: 0.5}", "sandbox: {workspace: {root: p}}\nagent: {compact_at: 0.80}", "3:21 agent.compact_at config.unavailable/only_default"},
		{"path_allowlist", "sandbox: {workspace: {root: p, properties: {path_allowlist: [a]}}}", "sandbox: {workspace: {root: p, properties: {path_allowlist: []}}}", "2:61 sandbox.workspace.properties.path_allowlist config.unavailable/path_allowlist"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := problems(t, "schema_version: 2\n"+tt.refused+"\n"); !slices.Equal(got, []string{tt.want}) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got := problems(t, "schema_version: 2\n"+tt.accepted+"\n"); got != nil {
				t.Errorf("refused at the default: %q", got)
			}
		})
	}
}

// Covers: S1-206, S1-180, S1-181, S1-182, S1-103, OLL-12, I18N-06
func TestDefaults(t *testing.T) {
	s := mustLoad(t, minimal, "")
	want := Settings{
		Path: filepath.Join(s.Dir, "agent.yaml"), Dir: s.Dir, Local: filepath.Join(s.Dir, LocalName),
		Application: Application{Language: "en"},
		MCP: MCP{Transport: "stdio", HTTP: HTTP{Listen: []string{"127.0.0.1:8765"}, Peer: "same_user"},
			Tasks: MCPTasks{TTL: 24 * time.Hour, PollInterval: 2 * time.Second}},
		Ollama: Ollama{BaseURL: "http://127.0.0.1:11434", Model: "qwen3:8b", Think: "false",
			KeepAlive: 10 * time.Minute, RequestTimeout: 10 * time.Minute,
			Retry:   Retry{Retries: 3, Backoff: 500 * time.Millisecond},
			Options: Options{NumCtx: 16384, Temperature: new(0.2)},
			Vision:  Vision{MaxImages: 4, MaxImageBytes: 5 << 20, MaxRequestBytes: 16 << 20}},
		Agent: Agent{MaxIterations: 128, MaxRepeatedFailures: 5, MaxReplans: 3, MaxTasks: 32, CompactAt: 0.80, MustReadFirst: true,
			Results:         Results{ReadLines: 2000, ReadBytes: 16 << 10, Entries: 1000, Matches: 250, CommandLines: 80, CommandBytes: 12 << 10},
			EditMemoryLimit: 8 << 20},
		Sandbox: Sandbox{Profile: "development",
			Workspace: Workspace{Root: filepath.Join(s.Dir, "project"), Name: "workspace", Policy: "deny_outside", ProtectHostTools: true},
			Network:   Network{Mode: "none", UnixSockets: "none"},
			Resources: Resources{Profile: "normal", MemoryMiB: 4096, Processes: 16, Timeout: 30 * time.Minute, Scratch: 1 << 30}},
		Approval: Approval{Channels: []string{"local"}, Timeout: 300 * time.Second},
		Logging:  Logging{Level: "info", LLM: true},
	}
	got := *s
	got.values, got.positions = nil, nil
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Settings{})); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	for profile, want := range map[string]Resources{
		"constrained": {"constrained", 1024, 4, 300 * time.Second, 256 << 20, 0},
		"extended":    {"extended", 8192, 32, 3600 * time.Second, 2 << 30, 0},
	} {
		s := mustLoad(t, "schema_version: 2\nsandbox: {workspace: {root: p}, resources: {profile: "+profile+"}}\n", "")
		if s.Sandbox.Resources != want {
			t.Errorf("%s: %+v", profile, s.Sandbox.Resources)
		}
	}
}

// Covers: S1-212, S1-213, S1-214
func TestLocalOverrides(t *testing.T) {
	base := "schema_version: 2\nollama: {model: a, options: {num_ctx: 4096, top_k: 5}}\nsandbox:\n  workspace: {root: p}\n  mounts: [{path: m1}, {path: m2}]\n"
	s := mustLoad(t, base, "ollama: {options: {top_k: 6}}\nsandbox: {mounts: [{path: /abs/m3}]}\n")
	if s.Ollama.Model != "a" || s.Ollama.Options.NumCtx != 4096 || *s.Ollama.Options.TopK != 6 {
		t.Errorf("maps are not merged recursively: %+v", s.Ollama)
	}
	if want := []Mount{{"/abs/m3", "read_only"}}; !slices.Equal(s.Sandbox.Mounts, want) {
		t.Errorf("a list is not replaced: %+v", s.Sandbox.Mounts)
	}
	if at := s.At("ollama.options.top_k"); filepath.Base(at.File) != LocalName || at.Line != 1 || at.Column != 27 {
		t.Errorf("place of an overridden value: %s", at)
	}
	if at := s.At("ollama.model"); filepath.Base(at.File) != "agent.yaml" || at.Line != 2 {
		t.Errorf("place of a base value: %s", at)
	}
	if at := s.At("agent.max_tasks"); at != (Position{}) {
		t.Errorf("place of a default: %s", at)
	}
	for name, local := range map[string]string{"comments": "# nothing\n", "nothing but white space": "\n \n", "a document mark": "---\n"} {
		if got := mustLoad(t, base, local); got.Fingerprint() == "" || len(got.Sandbox.Mounts) != 2 {
			t.Errorf("a local file of %s does not count as absent", name)
		}
	}
}

// A local file that cannot be used is never treated as absent (CONF-002).
func TestLocalProblems(t *testing.T) {
	dir := write(t, map[string]string{"agent.yaml": minimal, LocalName: "sandbox: {workspace: {rot: q}}\n"})
	path := filepath.Join(dir, "agent.yaml")
	_, err := Load(path)
	if want := filepath.Join(dir, LocalName) + ":1:23"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want the place %s", err, want)
	}
	local := filepath.Join(dir, LocalName)
	if err := os.Remove(local); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err != nil {
		t.Fatalf("without the local file: %v", err)
	}
	if err := os.Symlink("gone", local); err != nil {
		t.Skipf("no symbolic links: %v", err)
	}
	if _, err := Load(path); err == nil {
		t.Error("a dangling local file counts as absent")
	}
	if err := os.Remove(local); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(local, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil {
		t.Error("a directory counts as absent")
	}
}

func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, make([]byte, maxFileBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secret.yaml"), nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("gone", filepath.Join(dir, "lost.yaml")); err != nil {
		t.Skipf("no symbolic links: %v", err)
	}
	for path, reason := range map[string]string{
		filepath.Join(dir, "none.yaml"): "absent", dir: "directory", big: "too_large",
		filepath.Join(dir, "lost.yaml"): "dangling", filepath.Join(dir, "secret.yaml"): "forbidden",
	} {
		if reason == "forbidden" && os.Geteuid() == 0 {
			continue // root reads every file
		}
		_, err := Load(path)
		all, ok := errors.AsType[*Problems](err)
		if !ok || len(all.List) != 1 || all.List[0].Reason != reason {
			t.Errorf("%s: got %v, want %s", path, err, reason)
		}
	}
}

// Covers: SD-14, SD-15, OLL-05, S3-36
func TestWarnings(t *testing.T) {
	tests := []struct{ name, file, want, policy string }{
		{"unknown policy", "sandbox: {workspace: {root: p, policy: open}}", "sandbox.workspace.policy policy_unknown", "deny_outside"},
		{"alias deny", "sandbox: {workspace: {root: p, policy: restrict}}", "sandbox.workspace.policy policy_alias", "deny_outside"},
		{"alias ask", "sandbox: {workspace: {root: p, policy: ask}}\napproval: {channels: []}", "sandbox.workspace.policy policy_alias", "approve_outside"},
		{"option in both", "sandbox: {workspace: {root: p}}\nollama: {options: {seed: 1}, extra_options: {seed: 2}}", "ollama.extra_options.seed option_wins", "deny_outside"},
		{"known option among the extra ones", "sandbox: {workspace: {root: p}}\nollama: {extra_options: {seed: 2}}", "ollama.extra_options.seed option_known", "deny_outside"},
		{"default option among the extra ones", "sandbox: {workspace: {root: p}}\nollama: {extra_options: {num_ctx: 99999}}", "ollama.extra_options.num_ctx option_wins", "deny_outside"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustLoad(t, "schema_version: 2\n"+tt.file+"\n", "")
			if len(s.Warnings) != 1 || s.Warnings[0].Key+" "+s.Warnings[0].Reason != tt.want || s.Warnings[0].Line == 0 {
				t.Errorf("warnings %v, want %s", s.Warnings, tt.want)
			}
			if s.Sandbox.Workspace.Policy != tt.policy {
				t.Errorf("policy %s, want %s", s.Sandbox.Workspace.Policy, tt.policy)
			}
			if _, leaked := s.Ollama.ExtraOptions["seed"]; leaked || s.Ollama.Options.NumCtx != 16384 {
				t.Errorf("a known option was passed through: %v", s.Ollama.ExtraOptions)
			}
		})
	}
}

// Covers: OLL-03, OLL-05, OLL-14a
func TestOllamaOptions(t *testing.T) {
	s := mustLoad(t, minimal+`ollama:
  think: high
  options: {num_ctx: 8192, num_predict: -1, temperature: 0, top_k: 1, top_p: 0.9, min_p: 0.05, typical_p: 0.7,
    repeat_last_n: -1, repeat_penalty: 1.1, presence_penalty: -1.5, frequency_penalty: 1, seed: -7, stop: ["\n", END],
    num_keep: 4, num_batch: 2, num_gpu: 0, main_gpu: 0, use_mmap: false, num_thread: 8, penalize_newline: true, numa: false}
  extra_options: {new_one: 3, deep: {a: [1, 2.5, "no", true, null]}}
`, "")
	want := Options{
		NumCtx: 8192, NumPredict: new(-1), Temperature: new(0.0), TopK: new(1), TopP: new(0.9), MinP: new(0.05), TypicalP: new(0.7),
		RepeatLastN: new(-1), RepeatPenalty: new(1.1), PresencePenalty: new(-1.5), FrequencyPenalty: new(1.0), Seed: new(-7),
		Stop: []string{"\n", "END"}, NumKeep: new(4), NumBatch: new(2), NumGPU: new(0), MainGPU: new(0), UseMMap: new(false),
		NumThread: new(8), PenalizeNewline: new(true), NUMA: new(false),
	}
	if diff := cmp.Diff(want, s.Ollama.Options); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	extra := map[string]any{"new_one": int64(3), "deep": map[string]any{"a": []any{int64(1), 2.5, "no", true, nil}}}
	if diff := cmp.Diff(extra, s.Ollama.ExtraOptions); diff != "" {
		t.Errorf("extra options (-want +got):\n%s", diff)
	}
	if s.Ollama.Think != "high" {
		t.Errorf("think %q", s.Ollama.Think)
	}
}

// A byte order mark is accepted (C-65), paths start at the base file's
// directory, and what looks like a variable but is none is a path.
func TestAccepted(t *testing.T) {
	s := mustLoad(t, "\ufeff"+minimal, "")
	if at := s.At("schema_version"); at.Line != 1 || at.Column != 17 {
		t.Errorf("place after a byte order mark: %s", at)
	}
	s = mustLoad(t, "schema_version: 2\nsandbox: {workspace: {root: 'a$ b/$1/../c'}, mounts: [{path: /x//y/}, {path: 'C:\\Users\\u'}]}\n", "")
	got := []string{s.Sandbox.Workspace.Root, s.Sandbox.Mounts[0].Path, s.Sandbox.Mounts[1].Path}
	want := []string{filepath.Join(s.Dir, "a$ b/c"), filepath.Clean("/x/y"), filepath.Join(s.Dir, `C:\Users\u`)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

// Covers: S1-221
//
// The fingerprint changes with every value and with the prompt's text, and not
// with comments, order or layout.
func TestFingerprint(t *testing.T) {
	dir := write(t, map[string]string{"agent.yaml": minimal, "p.md": "be kind"})
	path := filepath.Join(dir, "agent.yaml")
	fingerprint := func(content string) string {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		return s.Fingerprint()
	}
	first := fingerprint(minimal)
	for name, same := range map[string]string{
		"comment": "# hello\n" + minimal,
		"order":   "sandbox:\n  workspace:\n    root: ./project/\nschema_version: 2\n",
		"default": minimal + "agent: {max_tasks: 32}\n",
	} {
		if fingerprint(same) != first {
			t.Errorf("%s changes the fingerprint", name)
		}
	}
	seen := map[string]string{first: "minimal"}
	for name, other := range map[string]string{
		"value":    minimal + "agent: {max_tasks: 31}\n",
		"language": minimal + "application: {language: ja}\n",
		"option":   minimal + "ollama: {extra_options: {a: 1}}\n",
		"text":     minimal + "ollama: {extra_options: {a: '1'}}\n",
		"prompt":   minimal + "agent: {user_system_prompt: p.md}\n",
		"empty":    "schema_version: 2\nsandbox: {workspace: {root: project, properties: {allowed_commands: []}}}\n",
		"no scope": minimal + "approval: {channels: []}\n",
	} {
		f := fingerprint(other)
		if twin, dup := seen[f]; dup {
			t.Errorf("%s has the fingerprint of %s", name, twin)
		}
		seen[f] = name
	}
	before := fingerprint(minimal + "agent: {user_system_prompt: p.md}\n")
	if err := os.WriteFile(filepath.Join(dir, "p.md"), []byte("be quick"), 0o600); err != nil {
		t.Fatal(err)
	}
	if fingerprint(minimal+"agent: {user_system_prompt: p.md}\n") == before {
		t.Error("a changed prompt keeps the fingerprint")
	}
}

// The language in which problems are explained is known although the file is
// wrong.
func TestProblemLanguage(t *testing.T) {
	dir := write(t, map[string]string{"agent.yaml": "schema_version: 2\napplication: {language: ja}\nnope: 1\n"})
	_, err := Load(filepath.Join(dir, "agent.yaml"))
	if all, ok := errors.AsType[*Problems](err); !ok || all.Language != "ja" {
		t.Errorf("language of %v", err)
	}
}

// Every reason of a problem has a sentence in every shipped language.
func TestReasonsHaveTexts(t *testing.T) {
	var reasons []string
	for _, name := range []string{"tree.go", "cursor.go", "values.go", "paths.go", "free.go", "load.go", "version.go", "decode.go", "options.go", "sandbox.go"} {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		reasons = append(reasons, wordsAfterCode(string(source))...)
	}
	if len(reasons) < 50 {
		t.Fatalf("only %d reasons found; the pattern is wrong", len(reasons))
	}
	for _, id := range []string{"en", "ja", "zh-CN"} {
		data, err := os.ReadFile("../locale/locales/" + id + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var texts map[string]string
		if err := json.Unmarshal(data, &texts); err != nil {
			t.Fatal(err)
		}
		for _, r := range reasons {
			if texts["config.why."+r] == "" {
				t.Errorf("%s: no text for config.why.%s", id, r)
			}
		}
	}
}
