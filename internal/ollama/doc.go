// Package ollama is the agent's Model over an Ollama server (OLL-01, OLL-02):
// an own small client for /api/chat whose every outcome is typed.
//
// The one rule to keep in mind: a reply counts only when its last chunk says
// done; everything else (a cut stream, an empty error, a chunk that cannot be
// read) is a failure with a code, never a short answer.
package ollama
