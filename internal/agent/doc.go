// Package agent is the Agent Runtime's loop: it plans a TaskGraph, works its
// tasks through tool calls, verifies effects, and replans. When the window
// fills, old tool results are shortened to their first lines; summarising by
// the model (SES-05) is not part of this version.
//
// The one rule to keep in mind: what the model says is a claim; only observed
// effects complete a task (AGT-04).
package agent
