package demo

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"sunaba/internal/ollama"
	"sunaba/internal/ollamatest"
)

// engine is the model of one demo: a real one, or a scripted one in-process.
type engine struct {
	baseURL, model string
	script         *ollamatest.Server // nil: a real model
}

func (e *engine) close() {
	if e.script != nil {
		e.script.Close()
	}
}

const defaultServer = "http://127.0.0.1:11434"

// findModel looks for an Ollama server with a model that calls tools: the one
// named by wanted, else the first. ok is false when there is none.
func findModel(ctx context.Context, host, wanted string) (e engine, ok bool) {
	e.baseURL = serverURL(host)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	names := []string{wanted}
	if wanted == "" {
		var err error
		if names, err = modelNames(ctx, e.baseURL); err != nil {
			return e, false
		}
	}
	for _, name := range names {
		client, err := ollama.New(ollama.Config{BaseURL: e.baseURL, Model: name})
		if err != nil {
			return e, false
		}
		info, err := client.Check(ctx)
		client.Close()
		if err == nil && info.ModelPresent && slices.Contains(info.Capabilities, "tools") {
			e.model = name
			return e, true
		}
	}
	return e, false
}

// serverURL reads OLLAMA_HOST the way Ollama's own programs do: with or without
// scheme and port; a wildcard address means this machine.
func serverURL(host string) string {
	if host == "" {
		return defaultServer
	}
	scheme, rest, found := strings.Cut(host, "://")
	if !found {
		scheme, rest = "http", host
	}
	rest = strings.TrimRight(rest, "/")
	name, port, err := net.SplitHostPort(rest)
	if err != nil {
		name, port = strings.Trim(rest, "[]"), "11434"
	}
	if name == "" || name == "0.0.0.0" || name == "::" {
		name = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(name, port)
}

// modelNames lists the models of a server.
func modelNames(ctx context.Context, baseURL string) ([]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, baseURL+"/api/tags", nil)
	if err != nil {
		return nil, err
	}
	client := http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(resp.Status)
	}
	var list struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 8<<20)).Decode(&list); err != nil {
		return nil, err
	}
	var names []string
	for _, m := range list.Models {
		names = append(names, m.Name)
	}
	return names, nil
}

//go:embed script.txt
var script string

// scripted starts the model that plays the script.
func scripted(s *stage, endpoint string, summaries []string) (engine, error) {
	vars := []string{"secret", inJSON(s.secret), "outside", inJSON(s.outside), "endpoint", endpoint}
	parsed, err := ollamatest.Parse("script.txt", script, append(vars, summaries...)...)
	if err != nil {
		return engine{}, err
	}
	srv, err := ollamatest.Start(parsed)
	if err != nil {
		return engine{}, err
	}
	return engine{baseURL: srv.URL(), model: parsed.Model, script: srv}, nil
}

// inJSON escapes s for the inside of a JSON string.
func inJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil { // a string is always JSON
		return ""
	}
	return strings.Trim(string(b), `"`)
}
