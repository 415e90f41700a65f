//go:build linux

package pod_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"sunaba/pod"
	"sunaba/tool"
)

// A Pod that may write src, except for one file, works on a request.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	manifest := filepath.Join(dir, "writer.toml")
	if err := os.Mkdir(filepath.Join(dir, "src"), 0o755); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(manifest, []byte(`
[pod]
name = "writer"
pwd = "./src"

[[scope.allow]]
target = "."
permission = "write"

[[scope.deny]]
target = "./secrets.rs"
permission = "write"
`), 0o644); err != nil {
		log.Fatal(err)
	}

	// A Model has one method; this one asks for two writes and then answers.
	model := pod.ModelFunc(func(_ context.Context, messages []pod.Message, _ []tool.Spec) (pod.Message, error) {
		if last := messages[len(messages)-1]; last.Role == pod.FromTool {
			return pod.Message{Content: "I wrote what I may."}, nil
		}
		return pod.Message{Calls: []pod.Call{
			{Name: pod.Write, Arguments: `{"path": "main.rs", "content": "fn main() {}\n"}`},
			{Name: pod.Write, Arguments: `{"path": "secrets.rs", "content": ""}`},
		}}, nil
	})

	p, err := pod.FromFile(manifest, pod.NewWorker(model), pod.NewMemoryStore())
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	answer, err := p.Run(context.Background(), "Write main.rs and secrets.rs.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Name()+":", answer)
	for _, path := range []string{"main.rs", "secrets.rs"} {
		full := filepath.Join(p.Pwd(), path)
		_, err := os.Stat(full)
		fmt.Println(path, p.Scope().PermissionAt(full), err == nil)
	}
	// A tool can be called without the model; a refusal has a code.
	r := p.Call(context.Background(), pod.Read, json.RawMessage(`{"path": "../writer.toml"}`))
	fmt.Println(r.OK, r.Error.Code)

	// Output:
	// writer: I wrote what I may.
	// main.rs write true
	// secrets.rs read false
	// false fs.out_of_scope
}

// A manifest with mistakes reports all of them, each with its place.
func ExampleParse() {
	_, err := pod.Parse("pod.toml", []byte(`[pod]
name = "writer"
pdw = "."

[[scope.allow]]
target = "./src"
permission = "all"
`))
	fmt.Println(err)

	// Output:
	// pod.toml:1:2: pod.manifest pod.pwd (missing)
	// pod.toml:3:1: pod.manifest pod.pdw (unknown_near)
	// pod.toml:7:14: policy.rule_permission scope.allow[0].permission (permission)
}
