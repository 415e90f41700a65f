// Package bench measures what the sandbox, the server and a whole job cost on
// this machine.
//
// The one rule to keep in mind: a figure is a ratio to a floor or a peer of the
// same run, taken in turns with it; nothing here fails because of a time.
package bench
