// Package house holds the rules of this repository as tests: who may import
// whom, what must be documented, which words no file may hold, and which test
// shows which requirement. It has no code of its own.
//
// The one rule to keep in mind: the tests read the tree in-process, so that a
// cached result is never older than the files.
package house
