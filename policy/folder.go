package policy

import "time"

// ForFolder returns the Input of a policy for one folder, for programs that
// have no configuration file: read, write, delete and execute beneath root, no
// program of the host's, no network, the resources of profile "normal", and
// what host tools would execute kept from being changed. Add Entries, Mounts
// and the rest, and Resolve it. root must be absolute.
func ForFolder(root string) Input {
	const mebi = 1 << 20
	return Input{
		Profile:   "development",
		Workspace: WorkspaceInput{Root: root, Name: "workspace", Policy: "deny_outside", ProtectHostTools: true},
		Network:   Network{Mode: "none", UnixSockets: "none"},
		Resources: Resources{Profile: "normal", MemoryMiB: 4096, Processes: 16, Timeout: 30 * time.Minute, ScratchBytes: 1024 * mebi},
	}
}
