// Package journal is the Recovery Journal: what a Task leaves on the host that
// the kernel cannot clean up by itself is written down before it is made, and
// undone at the latest by the next start (S1-202..205, REC-06).
//
// Each process owns one run directory, state/run/<start>-<pid>/, under a lock
// it holds for life; recovery touches only directories whose lock is free
// (C-75). The one rule to keep in mind: the record is durable before the
// resource exists, and undoing is right at every point a crash can leave.
package journal
