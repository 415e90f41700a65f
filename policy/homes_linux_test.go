package policy

var runtimeHomes = passwdHomes
