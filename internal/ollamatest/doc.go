// Package ollamatest is a scripted Ollama server for tests and for the demo:
// it speaks the wire of both server generations, byte for byte where clients
// care, and plays a model from a small text file.
//
// The one rule to keep in mind: it stands in for the server, never for the
// product; whatever uses it says so (C-56).
//
// # Scripts
//
// A script is lines. Blank lines and lines that start with "# " are skipped.
// Before the first section stand the server's properties:
//
//	model NAME                   the only model there is; without it every name exists
//	capabilities WORD…           default: completion tools thinking
//	context TOKENS               a longer prompt overflows; default: the request's num_ctx
//	wire parser|native           how calls travel: each in a chunk of its own (before 0.30),
//	                             or all in the last chunk, sharing index 0
//	version TEXT
//
// A section "## plan…" answers the next planner request (one with a format or
// without tools); any other "## name" answers the next turn of a task. Sections are used once,
// in order; one whose "when" does not hold is passed over and kept.
//
//	when SUBJECT contains|lacks "TEXT"    SUBJECT: last, result, user, any
//	expect SUBJECT contains|lacks "TEXT"  as when, but a miss is one of Server.Problems
//	repeat N | repeat forever             the section answers N requests
//
// Subjects: last is the last message; result is the last message if a tool
// spoke it; user is the last message of a user; any is all of them.
//
// What the model says:
//
//	task ID EFFECT O M P BUDGET [after ID,ID] TITLE | INSTRUCTIONS   (plans only)
//	skill NAME                            (plans only)
//	think TEXT | say TEXT                 TEXT may be quoted as in Go, or <<END … END
//	call NAME JSON                        JSON may be any value, right or wrong
//	finish done|failed "SUMMARY"          short for a call of finish_task
//	text-call, fenced-call, xml-call NAME JSON   a call written as text
//	malformed NAME TEXT                   a call whose arguments the server cannot read
//	empty | length
//
// How the server fails:
//
//	status CODE "TEXT" | busy | crash | overflow | silent-500 | quota SECONDS | auth URL
//	cut | garbage TEXT | fail-midway "TEXT" | delay DURATION | hang
//
// A request that no section answers gets an honest reply that the script has
// ended, so that an agent ends too.
package ollamatest
