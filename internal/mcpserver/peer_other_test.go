//go:build !linux

package mcpserver

import (
	"testing"

	"sunaba/fault"
)

// Where the user behind a socket cannot be told, same_user is refused rather
// than left out.
func TestSameUserIsRefused(t *testing.T) {
	s := New(Config{Jobs: newFakeJobs(), Texts: locale(t, "en")})
	for _, peer := range []string{"", "same_user"} {
		err := s.ListenAndServe(t.Context(), []string{"127.0.0.1:0"}, peer, func([]string) { t.Error("ready") }, nil)
		if fault.CodeOf(err) != fault.MCPPeerCheck {
			t.Errorf("%q: %v", peer, err)
		}
	}
}
