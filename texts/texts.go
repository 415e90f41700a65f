// Package texts says in words what the other packages say in codes: for people
// and for models, in every language of the program.
//
// The one rule to keep in mind: a code is for programs and never changes, its
// words are for people and may.
package texts

import (
	"errors"
	"strings"

	"sunaba/fault"
	"sunaba/internal/locale"
	"sunaba/internal/screen"
	"sunaba/pod"
)

// Texts are the words of one language. They never change and may be used by
// many goroutines. They are what pod.WithTexts takes.
type Texts struct{ catalog *locale.Catalog }

// Languages returns the identifiers that Load takes, such as "ja".
func Languages() []string { return locale.Shipped() }

// Load returns the words of a language. One that the program does not have is a
// fault of the locale family.
func Load(language string) (*Texts, error) {
	catalog, err := locale.LoadFrom(language)
	if err != nil {
		return nil, err
	}
	return &Texts{catalog}, nil
}

// Text returns the sentence of a key, such as that of pod.Problem.TextKey, with
// the facts of args in it; the key itself if there is none.
func (t *Texts) Text(key string, args fault.Args) string { return t.catalog.Text(key, args) }

// Fault returns what a code means and, where something can be done, a hint.
func (t *Texts) Fault(code fault.Code, args fault.Args) (message, hint string) {
	return t.catalog.Fault(code, args)
}

// Explain returns what a person should be told of err, a sentence or two for
// each cause: every problem of a manifest with its place, every fault with its
// hint, anything else as it says itself. What could confuse a terminal is made
// visible. A nil err has no causes.
func (t *Texts) Explain(err error) (causes []string) {
	if all, ok := errors.AsType[*pod.Problems](err); ok {
		for _, p := range all.List {
			causes = append(causes, screen.Escape(p.Position.String()+": "+t.Text(p.TextKey(), p.Args)))
		}
		return causes
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range many.Unwrap() {
			causes = append(causes, t.Explain(one)...)
		}
		return causes
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		message, hint := t.Fault(f.Code, f.Args)
		return []string{screen.Escape(strings.TrimSpace(message + " " + hint))}
	}
	if err != nil {
		causes = []string{screen.Escape(err.Error())}
	}
	return causes
}
