package policy

import (
	"net/netip"
	"os"
	"syscall"
)

// localRoutes returns what the kernel's routes call local: more than addresses of
// devices can be, such as a whole network at the loopback.
func localRoutes() ([]netip.Prefix, error) {
	raw, err := syscall.NetlinkRIB(syscall.RTM_GETROUTE, syscall.AF_UNSPEC)
	if err != nil {
		return nil, os.NewSyscallError("netlinkrib", err)
	}
	messages, err := syscall.ParseNetlinkMessage(raw)
	if err != nil {
		return nil, os.NewSyscallError("parsenetlinkmessage", err)
	}
	var out []netip.Prefix
	for _, m := range messages {
		const length, kind = 1, 7 // offsets in struct rtmsg
		if m.Header.Type != syscall.RTM_NEWROUTE || len(m.Data) < syscall.SizeofRtMsg || m.Data[kind] != syscall.RTN_LOCAL {
			continue
		}
		attributes, err := syscall.ParseNetlinkRouteAttr(&m)
		if err != nil {
			return nil, os.NewSyscallError("parsenetlinkrouteattr", err)
		}
		for _, a := range attributes {
			if at, ok := netip.AddrFromSlice(a.Value); ok && a.Attr.Type == syscall.RTA_DST {
				out = append(out, netip.PrefixFrom(at, int(m.Data[length])))
			}
		}
	}
	return out, nil
}
