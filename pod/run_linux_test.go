package pod

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"sunaba/fault"
	"sunaba/tool"
)

// A run goes through the model and the tools, and all of it is stored.
func TestRun(t *testing.T) {
	store := new(MemoryStore)
	p, s := newPlace(t, store, []Option{WithSystem("Be brief."), WithMaxTurns(4)},
		`Read {"path":"a.go"}`+"\n"+`Write {"path":"../docs/d.md","content":"x"}`, `Edit {"path":"a.go","old_string":"A","new_string":"B"}`, "Done.",
		"Again.")
	answer, err := p.Run(t.Context(), "Change A to B.")
	if err != nil || answer != "Done." {
		t.Fatalf("%q, %v", answer, err)
	}
	if data, _ := os.ReadFile(p.path("src/a.go")); string(data) != "needle B\n" {
		t.Errorf("the file holds %q", data)
	}
	if diff := cmp.Diff([]string{Edit, Glob, Grep, Read, Write}, s.tools); diff != "" {
		t.Error(diff)
	}
	var roles []string
	for _, m := range p.Messages() {
		roles = append(roles, string(m.Role))
	}
	if got := strings.Join(roles, " "); got != "system user assistant tool tool assistant tool assistant" {
		t.Error(got)
	}
	refused := p.Messages()[4]
	if refused.Tool != Write || refused.CallID != "1 1" || !strings.Contains(refused.Content, `"code":"fs.read_only"`) {
		t.Errorf("the refusal as told: %+v", refused)
	}
	if answer, err = p.Run(t.Context(), "And again."); err != nil || answer != "Again." {
		t.Errorf("%q, %v", answer, err)
	}
	if diff := cmp.Diff(p.Messages(), session(t, store, p.Session())); diff != "" {
		t.Errorf("stored otherwise: %s", diff)
	}
	// What the model was asked with only grew.
	for i := 1; i < len(s.seen); i++ {
		if diff := cmp.Diff(s.seen[i-1], s.seen[i][:len(s.seen[i-1])]); diff != "" {
			t.Errorf("request %d changed what was said before: %s", i, diff)
		}
	}
	if _, err := p.Run(t.Context(), ""); fault.CodeOf(err) != fault.PodMissing {
		t.Errorf("an empty request: %v", err)
	}
}

// Covers: S0-46
func TestRestore(t *testing.T) {
	store := fileStore(t, t.TempDir())
	p, _ := newPlace(t, store, []Option{WithSystem("Be brief.")}, `Read {"path":"a.go"}`, "Read.")
	if _, err := p.Run(t.Context(), "Read a.go."); err != nil {
		t.Fatal(err)
	}
	before := p.Messages()
	p.Close()
	if _, code := p.call(Read, `{"path":"a.go"}`); code == "" {
		t.Error("a closed Pod reads")
	}

	m, err := Load(p.path("pod.toml"))
	if err != nil {
		t.Fatal(err)
	}
	s := &script{answers: []string{`Write {"path":"a.go","content":"x"}`, "Refused."}}
	again, err := RestoreFromManifest(t.Context(), p.Session(), m, s, store, WithSystem("Not used."))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if diff := cmp.Diff(before, again.Messages()); diff != "" {
		t.Error(diff)
	}
	if answer, err := again.Run(t.Context(), "Overwrite it."); err != nil || answer != "Refused." {
		t.Fatalf("%q, %v", answer, err)
	}
	told := again.Messages()[len(before)+2].Content
	if !strings.Contains(told, string(fault.FSNotRead)) {
		t.Errorf("a file was overwritten that this Pod has not read: %s", told)
	}
	if got := again.Messages()[0]; got.Content != "Be brief." || len(s.seen[0]) != len(before)+1 {
		t.Errorf("the conversation begins with %+v", got)
	}
	_, err = RestoreFromManifest(t.Context(), "nobody", m, s, store)
	is(t, "an unknown session", err, fault.PodSession)
	_, err = Restore(t.Context(), p.Session(), m, nil, store, again.Pwd(), again.Scope())
	is(t, "no client", err, fault.PodMissing)
	_, err = RestoreFromManifest(t.Context(), p.Session(), nil, s, store)
	is(t, "no manifest", err, fault.PodMissing)
}

// failing is a Store that refuses the given Append, counted from 1.
type failing struct {
	Store
	at int
}

func (f *failing) Append(ctx context.Context, id SessionID, m ...Message) error {
	if f.at--; f.at == 0 {
		return fault.New(fault.PodStore, "append", "case", "write")
	}
	return f.Store.Append(ctx, id, m...)
}

// Wherever a run breaks off, nothing was done that is not recorded as wished,
// and the next run goes on with a whole conversation.
func TestRunThatBreaksOff(t *testing.T) {
	for at, acted := range map[int]bool{1: false, 2: false, 3: true, 4: true} {
		store := &failing{Store: new(MemoryStore), at: at}
		p, s := newPlace(t, store, nil, `Write {"path":"new.go","content":"x"}`+"\n"+`Read {"path":"new.go"}`, "Done.")
		_, err := p.Run(t.Context(), "Go.")
		is(t, fmt.Sprintf("append %d fails", at), err, fault.PodStore)
		if _, err := os.Stat(p.path("src/new.go")); (err == nil) != acted {
			t.Errorf("append %d fails: acted: %v", at, err == nil)
		}
		s.answers = []string{"Fine."}
		if answer, err := p.Run(t.Context(), "Go on."); err != nil || answer != "Fine." {
			t.Fatalf("append %d failed: %q, %v", at, answer, err)
		}
		all := p.Messages()
		calls, told := 0, 0
		for _, m := range all {
			calls += len(m.Calls)
			if m.Role == FromTool {
				told++
			}
		}
		if calls != told {
			t.Errorf("append %d failed: %d calls, %d results", at, calls, told)
		}
		if at > 2 && !strings.Contains(all[len(all)-3].Content, string(fault.PodInterrupted)) {
			t.Errorf("append %d failed: the lost call is told as %s", at, all[len(all)-3].Content)
		}
	}
}

func TestRunIsBounded(t *testing.T) {
	p, s := newPlace(t, new(MemoryStore), []Option{WithMaxTurns(2), WithMaxTurns(0)}, `Glob {"pattern":"*"}`, `Nonsense {x`, "Done.")
	_, err := p.Run(t.Context(), "Go.")
	is(t, "two turns", err, fault.PodTurns)
	if answer, err := p.Run(t.Context(), "Go on."); err != nil || answer != "Done." {
		t.Errorf("%q, %v", answer, err)
	}
	if _, err := p.Run(t.Context(), "More."); err == nil || err.Error() != "the script has ended" {
		t.Errorf("the model's error: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	asked := len(s.seen)
	if _, err := p.Run(gone, "More."); !errors.Is(err, context.Canceled) || len(s.seen) != asked {
		t.Errorf("an ended context: %v", err)
	}
	if r := p.Call(gone, Read, nil); r.Error == nil || r.Error.Code != fault.AgentCancelled {
		t.Errorf("a call with an ended context: %v", r)
	}
}

// One answer cannot ask for any number of calls, which the bound on answers
// would not end.
func TestOneAnswerIsBounded(t *testing.T) {
	for _, c := range []struct {
		calls int
		want  fault.Code
	}{{maxCalls, ""}, {maxCalls + 1, fault.PodTurns}} {
		model := ModelFunc(func(_ context.Context, m []Message, _ []tool.Spec) (Message, error) {
			if m[len(m)-1].Role == FromTool {
				return Message{Content: "Done."}, nil
			}
			return Message{Calls: slices.Repeat([]Call{{Name: Glob, Arguments: `{"pattern": "*"}`}}, c.calls)}, nil
		})
		_, file := project(t, onManifest, "src/", "docs/")
		p, err := FromFile(file, NewWorker(model), new(MemoryStore))
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Run(t.Context(), "Look.")
		is(t, fmt.Sprintf("%d calls", c.calls), err, c.want)
		if got := len(p.Messages()); c.want != "" && got != 1 {
			t.Errorf("%d messages are kept", got)
		}
		p.Close()
	}
}

// What a Pod holds is what its Store gives back, and nothing the model can
// still change.
func TestMessagesAreWhatIsStored(t *testing.T) {
	calls := []Call{{ID: "\xff1", Name: "no\xfe\xff", Arguments: "{\"path\": \"\xff\"}"}}
	model := ModelFunc(func(_ context.Context, m []Message, _ []tool.Spec) (Message, error) {
		if m[len(m)-1].Role == FromTool {
			calls[0].Name = "changed"
			return Message{Role: System, Content: "a\xff\xfeb", Tool: Read}, nil
		}
		return Message{Content: "\xff", Thinking: "\xfe", Calls: calls}, nil
	})
	store := NewMemoryStore()
	_, file := project(t, onManifest, "src/", "docs/")
	p, err := FromFile(file, NewWorker(model), store)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Run(t.Context(), "Look \xff."); err != nil {
		t.Fatal(err)
	}
	stored, err := store.Messages(t.Context(), p.Session())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, p.Messages()); diff != "" {
		t.Errorf("(-stored +held)\n%s", diff)
	}
	if last := stored[len(stored)-1]; last.Role != Assistant || last.Content != "a\uFFFDb" || last.Tool != "" {
		t.Errorf("the answer is kept as %+v", last)
	}
}

// Runs follow one another, and waiting for one ends with the context.
func TestRunsFollowOneAnother(t *testing.T) {
	dir, file := project(t, onManifest, "src/", "docs/")
	_ = dir
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		model := ModelFunc(func(ctx context.Context, m []Message, _ []tool.Spec) (Message, error) {
			select {
			case <-free:
				return Message{Content: fmt.Sprint(len(m))}, nil
			case <-ctx.Done():
				return Message{}, ctx.Err()
			}
		})
		p, err := FromFile(file, NewWorker(model), new(MemoryStore))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		done := make(chan string)
		go func() {
			answer, _ := p.Run(t.Context(), "one")
			done <- answer
		}()
		synctest.Wait()
		gone, cancel := context.WithCancel(t.Context())
		waiting := make(chan error)
		go func() {
			_, err := p.Run(gone, "two")
			waiting <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-waiting; !errors.Is(err, context.Canceled) {
			t.Errorf("waiting: %v", err)
		}
		close(free)
		if answer := <-done; answer != "1" {
			t.Errorf("the first run saw %s messages", answer)
		}
	})
}

// echo is a tool that is added.
type echo struct{ name string }

func (e echo) Spec() tool.Spec {
	return tool.Spec{Name: e.name, Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}
}
func (e echo) Call(context.Context, json.RawMessage) tool.Result {
	return tool.Result{OK: true, Scope: tool.NoScope, Text: "echo"}
}

func TestAddedToolsReplaceNone(t *testing.T) {
	p, _ := newPlace(t, new(MemoryStore), []Option{WithTools(echo{"Echo"}), WithTools(echo{Read})})
	if r, _ := p.call("Echo", ""); r.Text != "echo" {
		t.Errorf("%+v", r)
	}
	if r, _ := p.call(Read, `{"path":"a.go"}`); !strings.Contains(r.Text, "needle A") {
		t.Errorf("Read was replaced: %+v", r)
	}
}

// stop is a tool that is cancelled while it acts.
type stop struct {
	echo
	cancel func()
}

func (s stop) Call(ctx context.Context, args json.RawMessage) tool.Result {
	s.cancel()
	return s.echo.Call(ctx, args)
}

// What was done is recorded, also when the run was cancelled meanwhile; what
// comes after it is not done.
func TestCancelledRunRecordsWhatWasDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	store := new(MemoryStore)
	p, _ := newPlace(t, store, []Option{WithTools(stop{echo{"Stop"}, cancel})}, "Stop {}\n"+`Write {"path":"new.go","content":"x"}`)
	if _, err := p.Run(ctx, "Go."); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	kept := session(t, store, p.Session())
	if last := kept[len(kept)-1]; len(kept) != 3 || last.Tool != "Stop" || !strings.HasSuffix(last.Content, "echo") {
		t.Errorf("kept: %+v", kept)
	}
	if _, err := os.Stat(p.path("src/new.go")); err == nil {
		t.Error("a call after the end was carried out")
	}
}

// Two Pods on one tree hold to their own Scopes, at the same time.
func TestPodsDoNotShareRights(t *testing.T) {
	store := new(MemoryStore)
	writer, _ := newPlace(t, store, nil, `Write {"path":"b.go","content":"by the writer"}`, "ok")
	readOnly := strings.NewReplacer(`"src", permission = "write"`, `"src", permission = "read"`).Replace(rules)
	file := writer.path("reader.toml")
	if err := os.WriteFile(file, []byte(readOnly), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &script{answers: []string{`Write {"path":"c.go","content":"by the reader"}`, "ok"}}
	reader, err := FromFile(file, NewWorker(s), store)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ended := make(chan error)
	go func() { _, err := reader.Run(t.Context(), "Write."); ended <- err }()
	_, err = writer.Run(t.Context(), "Write.")
	if err := errors.Join(err, <-ended); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(writer.path("src/b.go")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(writer.path("src/c.go")); err == nil {
		t.Error("the reader wrote")
	}
	if writer.Session() == reader.Session() {
		t.Error("one session")
	}
}

func TestHintsNameTheToolsOfAPod(t *testing.T) {
	for hint, want := range map[string]string{
		"Read it with read_file first; or use edit_file.": "Read it with Read first; or use Edit.",
		"find_files": "Glob",
		"先に read_file で読んでください。":            "先に Read で読んでください。",
		"src/read_file.go and my_read_file": "src/read_file.go and my_read_file",
		"write_file, search_file":           "Write, Grep",
	} {
		if _, got := (inPod{fixed(hint)}).Fault("x", nil); got != want {
			t.Errorf("%q became %q, want %q", hint, got, want)
		}
	}
}

type fixed string

func (f fixed) Fault(fault.Code, fault.Args) (message, hint string) { return string(f), string(f) }
