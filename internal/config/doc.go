// Package config reads agent.yaml and the agent.local.yaml beside it into
// typed Settings, or reports every problem at once with its place.
//
// The one rule to keep in mind: nothing is guessed; what is unknown, given
// twice, or of another type than the key asks for stops the start.
package config
