// Package blackbox holds tests that drive the built programs through CONTRACT
// alone: command line, agent.yaml, MCP, the files they leave.
//
// The one rule to keep in mind: nothing here imports the product; what an
// outsider cannot see, these tests cannot see.
package blackbox
