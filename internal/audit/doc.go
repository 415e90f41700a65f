// Package audit writes what happened: the hash-chained audit log, the log of
// the conversations with the model, token metrics and the application log.
// All of them are 0600 files in one 0700 directory, one set per process.
//
// The one rule to keep in mind: an act that cannot be recorded does not
// happen. Append is called before the act, and when it fails once, it fails
// for good. The other logs are diagnostic: they never stop a job.
package audit
