package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"sunaba/internal/ollamatest"
	"sunaba/pod/ollama"
)

// llm is one Ollama, real or scripted, as the Model of any number of Pods.
type llm struct {
	*ollama.Client
	kind, name, host string // kind: real, scripted
	script           *ollamatest.Server
}

//go:embed script.txt
var script string

// findModel returns the wanted model of the Ollama at host, or its first one
// that calls tools; when none answers, the scripted one.
func findModel(ctx context.Context, host, wanted string) (*llm, error) {
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	probe, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	names := []string{wanted}
	if wanted == "" {
		names = modelNames(probe, host)
	}
	for _, name := range names {
		client, err := ollama.New(ollama.Config{URL: host, Model: name})
		if err != nil {
			return nil, err
		}
		if client.Check(probe) == nil {
			return &llm{Client: client, kind: "real", name: name, host: host}, nil
		}
		client.Close()
	}
	parsed, err := ollamatest.Parse("script.txt", script)
	if err != nil {
		return nil, err
	}
	server, err := ollamatest.Start(parsed)
	if err != nil {
		return nil, err
	}
	client, err := ollama.New(ollama.Config{URL: server.URL(), Model: parsed.Model})
	if err != nil {
		server.Close()
		return nil, err
	}
	return &llm{Client: client, kind: "scripted", name: parsed.Model, host: host, script: server}, nil
}

// modelNames lists the models of a server; none when it does not answer.
func modelNames(ctx context.Context, host string) (names []string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, host+"/api/tags", nil)
	if err != nil {
		return nil
	}
	client := http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	var list struct{ Models []struct{ Name string } }
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&list); err != nil {
		return nil
	}
	for _, m := range list.Models {
		names = append(names, m.Name)
	}
	return names
}

func (l *llm) close() {
	l.Client.Close()
	if l.script != nil {
		l.script.Close()
	}
}

// problems reports where the Pods did not do what the script expects.
func (l *llm) problems() error {
	if l.script == nil {
		return nil
	}
	if found := append(l.script.Problems(), l.script.Unused()...); len(found) > 0 {
		return errors.New(strings.Join(found, "; "))
	}
	return nil
}

// reason takes the message out of a refusal as the model was told it.
func reason(told string) string {
	line, _, _ := strings.Cut(told, "\n")
	var refusal struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal([]byte(line), &refusal); err != nil {
		return line
	}
	return refusal.Error.Message + " [" + refusal.Error.Code + "]"
}
