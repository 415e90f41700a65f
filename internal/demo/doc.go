// Package demo plays one whole job through the real server and the real
// sandbox, and shows a person what was planned, done and refused.
//
// The one rule to keep in mind: it proves, it does not claim. Success means
// that the job is done, that its check passes, and that nothing got out, each
// found out afterwards and beside the server.
package demo
