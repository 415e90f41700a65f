package workspace

// Policy says what happens to an operation outside the workspace (S3-04,
// C-07). The zero value denies, and so does every value without a name.
type Policy uint8

// The three policies.
const (
	// DenyOutside refuses it (S3-25).
	DenyOutside Policy = iota
	// ApproveOutside asks a person, per call and resolved path (S3-24).
	ApproveOutside
	// AllowAll lets it happen (S3-23).
	AllowAll
)

// String returns the canonical name: the one settings and explanations use.
func (p Policy) String() string {
	switch p {
	case AllowAll:
		return "allow_all"
	case ApproveOutside:
		return "approve_outside"
	default:
		return "deny_outside"
	}
}

// ParsePolicy is the only parser of policy words (S3-33). It is total: a word
// it does not know, spelled exactly, is DenyOutside with known false, which the
// caller logs as an error (S3-34, S3-35, SD-15). It reports alias when the word
// is not the canonical name, so that the caller can show that one (SD-14).
func ParsePolicy(word string) (p Policy, known, alias bool) {
	switch word {
	case "allow_all", "allow", "read":
		p = AllowAll
	case "approve_outside", "approve", "ask":
		p = ApproveOutside
	case "deny_outside", "deny", "restrict":
		p = DenyOutside
	default:
		return DenyOutside, false, false
	}
	return p, true, word != p.String()
}
