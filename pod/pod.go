package pod

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"

	"sunaba/fault"
	"sunaba/scope"
	"sunaba/scopedfs"
	"sunaba/tool"
)

// Pod is one conversation with a model whose tools act within a Scope. It may
// be used by many goroutines; runs and calls follow one another. The caller
// closes it. (S0-44)
type Pod struct {
	name     string
	session  SessionID
	worker   *Worker
	store    Store
	pwd      string
	scope    *scope.Scope
	fs       *scopedfs.FS
	tools    *tool.Registry
	messages []Message     // what is stored
	turn     chan struct{} // holds a token while nobody runs
}

// New returns a Pod with a new session, which is stored with its first
// message. pwd must be an absolute, existing directory that s lets be read;
// otherwise the error is pod.pwd. What is nil is pod.missing. On systems
// without scoped file access it is platform.unsupported. (S0-45)
func New(m *Manifest, w *Worker, store Store, pwd string, s *scope.Scope) (*Pod, error) {
	return open(NewSessionID(), m, w, store, pwd, s)
}

// Restore returns a Pod that goes on with the stored session id, as New does
// for a new one. The model must read a file again before it overwrites it. A
// session that the Store does not know is pod.session. Two Pods of one session
// do not see each other's messages: close the first before. (S0-46)
func Restore(ctx context.Context, id SessionID, m *Manifest, client Model, store Store, pwd string, s *scope.Scope, options ...Option) (*Pod, error) {
	p, err := open(id, m, NewWorker(client, options...), store, pwd, s)
	if err != nil {
		return nil, err
	}
	if p.messages, err = store.Messages(ctx, id); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// FromManifest is New with the working directory and the Scope that m
// describes, resolved and checked now; mistakes are a *Problems. (S0-49, S0-50)
func FromManifest(m *Manifest, w *Worker, store Store) (*Pod, error) {
	if m == nil {
		return nil, missing("manifest")
	}
	pwd, s, err := m.Resolve()
	if err != nil {
		return nil, err
	}
	return New(m, w, store, pwd, s)
}

// FromFile is Load and FromManifest.
func FromFile(file string, w *Worker, store Store) (*Pod, error) {
	m, err := Load(file)
	if err != nil {
		return nil, err
	}
	return FromManifest(m, w, store)
}

// RestoreFromManifest is Restore with the working directory and the Scope that
// m describes now, whatever they were when the session was stored.
func RestoreFromManifest(ctx context.Context, id SessionID, m *Manifest, client Model, store Store, options ...Option) (*Pod, error) {
	if m == nil {
		return nil, missing("manifest")
	}
	pwd, s, err := m.Resolve()
	if err != nil {
		return nil, err
	}
	return Restore(ctx, id, m, client, store, pwd, s, options...)
}

func missing(what string) error { return fault.New(fault.PodMissing, "new", "what", what) }

func open(id SessionID, m *Manifest, w *Worker, store Store, pwd string, s *scope.Scope) (*Pod, error) {
	switch {
	case m == nil:
		return nil, missing("manifest")
	case w == nil || w.model == nil:
		return nil, missing("model")
	case store == nil:
		return nil, missing("store")
	case s == nil:
		return nil, missing("scope")
	case !filepath.IsAbs(pwd):
		return nil, fault.New(fault.PodPwd, "new", "path", pwd, "case", "relative")
	}
	real, err := filepath.EvalSymlinks(pwd)
	if err != nil {
		return nil, fault.Wrap(err, fault.PodPwd, "new", "path", pwd, "case", "absent")
	}
	if !s.IsReadable(real) {
		return nil, fault.New(fault.PodPwd, "new", "path", real)
	}
	fs, err := scopedfs.Open(scopedfs.FromScope(s), scopedfs.Options{Pwd: real})
	if err != nil {
		return nil, err
	}
	dir, _, err := fs.OpenDir(".")
	if err != nil {
		fs.Close()
		return nil, err
	}
	dir.Close()
	p := &Pod{
		name: m.Pod.Name, session: id, worker: w, store: store, pwd: real, scope: s,
		fs: fs, tools: toolsOf(fs, w), turn: make(chan struct{}, 1),
	}
	p.turn <- struct{}{}
	return p, nil
}

// Name returns the manifest's name.
func (p *Pod) Name() string { return p.name }

// Session returns the ID under which the conversation is stored.
func (p *Pod) Session() SessionID { return p.session }

// Pwd returns the working directory: absolute and free of links (S0-47).
func (p *Pod) Pwd() string { return p.pwd }

// Scope returns the Scope; it is never nil (S0-48).
func (p *Pod) Scope() *scope.Scope { return p.scope }

// Tools returns what the model is told of its tools, sorted by name.
func (p *Pod) Tools() []tool.Spec { return p.tools.Specs() }

// Call runs one tool as the model would, without telling the model. A refusal
// is a Result. (S0-51..53)
func (p *Pod) Call(ctx context.Context, name string, args json.RawMessage) tool.Result {
	if err := p.begin(ctx); err != nil {
		return tool.Fail(tool.NoScope, fault.Wrap(err, fault.AgentCancelled, name))
	}
	defer p.end()
	return p.tools.Call(ctx, name, args)
}

// Messages returns the conversation so far; it waits for a run that is under
// way, as Call and Close do, so that a tool must not ask for it.
func (p *Pod) Messages() []Message {
	<-p.turn
	defer p.end()
	return slices.Clone(p.messages)
}

// Close gives back what the Pod holds open, after a run that is under way has
// ended; its tools then fail. The session stays stored and can be restored. The
// Store is not closed.
func (p *Pod) Close() error {
	<-p.turn
	defer p.end()
	return p.fs.Close()
}

// begin waits until nobody else runs.
func (p *Pod) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-p.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Pod) end() { p.turn <- struct{}{} }
