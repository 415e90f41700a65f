package config

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// FuzzLoad: whatever the file holds, Load returns settings that say where
// every value came from, or problems with places; it never panics.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte("schema_version: 2\nsandbox: {workspace: {root: p}, mounts: [{path: &a b}, *a]}\n<<: {}\n"))
	f.Add([]byte("\ufeffschema_version: 1\nexecution: {shells: 0}\n---\n? [x]\n: 0755\n"))
	f.Add([]byte("kind: x"))
	f.Add([]byte("a: \"\\x\"\nb: !!binary c\n\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "agent.yaml")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Load(path)
		if err == nil {
			if len(s.Values()) < 40 || s.Sandbox.Workspace.Root == "" {
				t.Errorf("accepted without values: %q", data)
			}
			return
		}
		all, ok := errors.AsType[*Problems](err)
		if !ok || len(all.List) == 0 {
			t.Fatalf("error without problems: %v", err)
		}
		for _, p := range all.List {
			if p.File != path || p.Reason == "" || p.Code == "" || (p.Line == 0 && p.Code != "config.unreadable") {
				t.Errorf("problem without a place: %+v", p)
			}
		}
	})
}

func TestSizesAndDurationsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, math.MaxInt64).Draw(t, "bytes")
		if got, ok := parseSize(formatSize(n)); !ok || got != n {
			t.Fatalf("%d becomes %q becomes %d, %v", n, formatSize(n), got, ok)
		}
	})
}

// Merging is associative with an empty side and never drops a key.
func TestMergeLaws(t *testing.T) {
	leaf := rapid.Custom(func(t *rapid.T) *node {
		return &node{kind: scalar, text: rapid.StringN(0, 3, 3).Draw(t, "text")}
	})
	var tree func(depth int) *rapid.Generator[*node]
	tree = func(depth int) *rapid.Generator[*node] {
		return rapid.Custom(func(t *rapid.T) *node {
			if depth == 0 || rapid.Bool().Draw(t, "leaf") {
				return leaf.Draw(t, "value")
			}
			n := &node{kind: mapping}
			for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID[string]).Draw(t, "keys") {
				n.fields = append(n.fields, field{key: k, value: tree(depth-1).Draw(t, k)})
			}
			return n
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := tree(3).Draw(t, "base"), tree(3).Draw(t, "local")
		before := flat(a)
		m := merge(a, b)
		if flat(a) != before {
			t.Fatal("merge changed the base")
		}
		if flat(merge(m, b)) != flat(m) {
			t.Fatal("merging twice is not merging once")
		}
		if flat(merge(a, nil)) != flat(a) || flat(merge(nil, b)) != flat(b) {
			t.Fatal("nothing is not neutral")
		}
		if a.kind == mapping && b.kind == mapping {
			for _, f := range append(append([]field(nil), a.fields...), b.fields...) {
				if m.get(f.key) == nil {
					t.Fatalf("key %s is lost", f.key)
				}
			}
		}
	})
}

func flat(n *node) string {
	if n.kind == scalar {
		return n.text + ";"
	}
	var b strings.Builder
	b.WriteByte('{')
	for _, f := range n.fields {
		b.WriteString(f.key + ":" + flat(f.value))
	}
	return b.String() + "}"
}
