// Command pods lets two Pods share one Ollama and one folder: a writer that may
// change src, and a reader that may only look at it. It prints what each may
// do, lets both work, and prints what was refused.
//
//	go run ./examples/pods
//
// A model of a reachable Ollama that calls tools is used: OLLAMA_HOST says
// where, OLLAMA_MODEL which. When there is none a scripted one plays its part,
// and the program says so. PODS_LANG chooses the language: en, ja or zh-CN.
package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"sunaba/fault"
	"sunaba/internal/screen"
	"sunaba/pod"
	"sunaba/texts"
)

//go:embed *.toml
var manifests embed.FS

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	e := example{
		out: os.Stdout, language: cmp.Or(os.Getenv("PODS_LANG"), "en"),
		host: cmp.Or(os.Getenv("OLLAMA_HOST"), "http://127.0.0.1:11434"), model: os.Getenv("OLLAMA_MODEL"),
	}
	if err := e.run(ctx); err != nil {
		log.Fatal("pods: ", err)
	}
}

type example struct {
	out                   io.Writer
	language, host, model string
	texts                 *texts.Texts
}

// tasks are what the Pods are asked to do, one after the other.
var tasks = []struct{ manifest, request string }{
	{"writer.toml", "Write a short greeting into greeting.txt. Then add a comment to generated.go, read .env, and write docs/plan.md beside src."},
	{"reader.toml", "Read greeting.txt and correct its text."},
}

func (e *example) run(ctx context.Context) (err error) {
	if e.texts, err = texts.Load(e.language); err != nil {
		return err
	}
	dir, err := folder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	llm, err := findModel(ctx, e.host, e.model)
	if err != nil {
		return err
	}
	defer llm.close()
	e.say("example.pods."+llm.kind, "model", llm.name, "host", llm.host)

	// One client for both Pods, and one place for their conversations.
	worker := pod.NewWorker(llm, pod.WithTexts(e.texts), pod.WithMaxTurns(16))
	store, err := pod.OpenFileStore(filepath.Join(dir, "sessions"))
	if err != nil {
		return err
	}
	defer store.Close()
	for _, task := range tasks {
		p, err := pod.FromFile(filepath.Join(dir, task.manifest), worker, store)
		if err != nil {
			return e.explain(err)
		}
		err = e.work(ctx, p, task.request)
		if err := errors.Join(err, p.Close()); err != nil {
			return err
		}
	}
	return llm.problems()
}

// folder makes what the Pods work on, with the manifests in it.
func folder() (string, error) {
	dir, err := os.MkdirTemp("", "pods-")
	if err != nil {
		return "", err
	}
	for name, text := range map[string]string{
		"src/generated.go": "package generated\n",
		"src/.env":         "KEY=not for models\n",
		"docs/guide.md":    "A guide.\n",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return dir, err
		}
	}
	for _, task := range tasks {
		text, err := manifests.ReadFile(task.manifest)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, task.manifest), text, 0o600)
		}
		if err != nil {
			return dir, err
		}
	}
	return dir, nil
}

// work prints what p may do, lets it work, and prints what became of it.
func (e *example) work(ctx context.Context, p *pod.Pod, request string) error {
	fmt.Fprintln(e.out)
	e.say("example.pods.may", "pod", p.Name())
	for _, path := range []string{"src", "src/greeting.txt", "src/generated.go", "src/.env", "docs"} {
		may := p.Scope().PermissionAt(filepath.Join(filepath.Dir(p.Pwd()), path))
		fmt.Fprintf(e.out, "  %-18s %s\n", path, e.texts.Text("example.pods."+may.String(), nil))
	}
	answer, err := p.Run(ctx, request)
	if err != nil {
		return e.explain(err)
	}
	e.say("example.pods.answer", "pod", p.Name(), "answer", screen.Escape(answer))
	calls := map[string]pod.Call{}
	for _, m := range p.Messages() {
		for _, c := range m.Calls {
			calls[c.ID] = c
		}
		if m.Role == pod.FromTool && strings.HasPrefix(m.Content, `{"ok":false`) {
			e.say("example.pods.refused", "tool", screen.Escape(m.Tool), "arguments", screen.Escape(calls[m.CallID].Arguments), "why", reason(m.Content))
		}
	}
	return nil
}

// say prints a text of the locale files.
func (e *example) say(key string, pairs ...string) {
	fmt.Fprintln(e.out, e.texts.Text(key, fault.New("", "", pairs...).Args))
}

// explain turns an error into the sentences a person reads.
func (e *example) explain(err error) error {
	return errors.New(strings.Join(e.texts.Explain(err), "\n"))
}
