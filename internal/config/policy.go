package config

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"

	"sunaba/policy"
)

// PolicyInput returns what s asks for in the policy's own words. Of own, the
// paths that come from s are filled in; the caller gives the rest: executable,
// locale directories, state directory.
func (s *Settings) PolicyInput(own policy.Own) policy.Input {
	own.Config, own.Local = s.Path, s.Local
	own.Listeners, own.Model = s.listeners(), s.modelAddress()
	own.UserSystemPrompt, own.SkillDirs = s.Agent.UserSystemPrompt, s.Skills.Directories
	sb, props := &s.Sandbox, &s.Sandbox.Workspace.Properties
	in := policy.Input{
		Profile: sb.Profile,
		Workspace: policy.WorkspaceInput{
			Root: sb.Workspace.Root, Name: sb.Workspace.Name, Policy: sb.Workspace.Policy,
			ProtectHostTools: sb.Workspace.ProtectHostTools, Source: s.source("sandbox.workspace.root"),
		},
		Network: policy.Network{
			Mode: sb.Network.Mode, UnixSockets: sb.Network.UnixSockets, Source: s.source("sandbox.network.mode"),
		},
		Resources: policy.Resources{
			Profile: sb.Resources.Profile, MemoryMiB: sb.Resources.MemoryMiB, Processes: sb.Resources.Processes,
			Timeout: sb.Resources.Timeout, ScratchBytes: sb.Resources.Scratch, FileSizeBytes: sb.Resources.FileSize,
		},
		AllowedCommands: props.AllowedCommands,
		MaxFileBytes:    props.MaxFileSizeMB * mib,
		MaxFiles:        props.MaxFiles,
		AllowHardLinks:  props.AllowHardLinks,
		Own:             own,
	}
	for i, e := range sb.Network.Endpoints {
		key := fmt.Sprintf("sandbox.network.endpoints[%d].port", i)
		in.Network.Endpoints = append(in.Network.Endpoints, policy.Endpoint{Host: e.Host, Port: e.Port, Source: s.source(key)})
	}
	for i, m := range sb.Mounts {
		key := fmt.Sprintf("sandbox.mounts[%d].path", i)
		in.Mounts = append(in.Mounts, policy.MountInput{Path: m.Path, Access: m.Access, Source: s.source(key)})
	}
	for i, e := range sb.Entries {
		key := fmt.Sprintf("sandbox.execution.entries[%d].path", i)
		in.Entries = append(in.Entries, policy.EntryInput{
			Alias: e.Alias, Path: e.Path, RuntimeRoot: e.RuntimeRoot, Source: s.source(key),
		})
	}
	for _, name := range slices.Sorted(maps.Keys(props.Environment)) {
		key := join("sandbox.workspace.properties.environment", name)
		in.Environment = append(in.Environment, policy.Variable{
			Name: name, Value: props.Environment[name], Source: s.source(key),
		})
	}
	if sb.Scope != nil {
		in.Scope = &policy.ScopeInput{
			AllowGiven: sb.Scope.AllowGiven, Source: s.source("sandbox.scope"),
			Allow: s.rules("allow", sb.Scope.Allow), Deny: s.rules("deny", sb.Scope.Deny),
		}
	}
	return in
}

func (s *Settings) rules(list string, rules []Rule) []policy.RuleInput {
	var out []policy.RuleInput
	for i, r := range rules {
		key := fmt.Sprintf("sandbox.scope.%s[%d].target", list, i)
		out = append(out, policy.RuleInput{
			Target: r.Target, Permission: r.Permission, Recursive: r.Recursive, Delete: r.Delete, Source: s.source(key),
		})
	}
	return out
}

// source prints where key stands, or the base file when it is a default.
func (s *Settings) source(key string) string {
	if at := s.At(key); at.Line > 0 {
		return at.String()
	}
	return s.Path
}

// listeners are the addresses at which the server will listen; those with port
// 0 are not known yet.
func (s *Settings) listeners() []netip.AddrPort {
	var out []netip.AddrPort
	if s.MCP.Transport != "http" {
		return nil
	}
	for _, l := range s.MCP.HTTP.Listen {
		if a, err := netip.ParseAddrPort(l); err == nil && a.Port() != 0 {
			out = append(out, netip.AddrPortFrom(a.Addr().Unmap(), a.Port()))
		}
	}
	return out
}

// modelAddress is the host and port of the model's server, "" where the URL
// has none.
func (s *Settings) modelAddress() string {
	u, err := url.Parse(s.Ollama.BaseURL)
	if err != nil {
		return ""
	}
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}
