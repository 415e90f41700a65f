package scope

import "sunaba/fault"

// String returns "read" or "write", and "none" for anything else.
func (p Permission) String() string {
	switch p {
	case Read:
		return "read"
	case Write:
		return "write"
	}
	return "none"
}

// ParsePermission reads the exact lower-case words "read" and "write"
// (S0-10..12); anything else is a policy.rule_permission fault.
func ParsePermission(text string) (Permission, error) {
	switch text {
	case "read":
		return Read, nil
	case "write":
		return Write, nil
	}
	return None, fault.New(fault.PolicyRulePermission, "parse_permission", "value", text)
}

// MarshalText writes the word of p. A Permission that is neither Read nor
// Write has none and is a fault, so that no rule without a level is stored.
func (p Permission) MarshalText() ([]byte, error) {
	if p != Read && p != Write {
		return nil, fault.New(fault.PolicyRulePermission, "marshal_permission", "value", p.String())
	}
	return []byte(p.String()), nil
}

// UnmarshalText is ParsePermission for decoders; p is unchanged on a fault.
func (p *Permission) UnmarshalText(text []byte) error {
	parsed, err := ParsePermission(string(text))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}
