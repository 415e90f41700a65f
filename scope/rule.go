package scope

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"

	"sunaba/fault"
)

// UnmarshalJSON reads a rule as D0 writes it: an absent "recursive" means true
// (S0-29), an unknown key is an error. A missing permission is left None, which
// New refuses (S0-28).
func (r *Rule) UnmarshalJSON(data []byte) error {
	type plain Rule // without this method
	read := plain{Recursive: true}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&read); err != nil {
		return err
	}
	*r = Rule(read)
	return nil
}

// maxTarget bounds the length of a target in bytes: no path that a system or
// scopedfs takes is longer, and the index is as deep as its longest target.
const maxTarget = 64 << 10

// check reports what makes r unusable, one fault for each cause. Deny rules
// have no delete bit: denying write already clears it.
func (r Rule) check(deny bool) []error {
	var found []error
	report := func(code fault.Code) {
		found = append(found, fault.New(code, "scope",
			"target", r.Target, "value", r.Permission.String(), "source", r.Source))
	}
	if len(r.Target) > maxTarget {
		found = append(found, fault.New(fault.PolicyRuleTarget, "scope",
			"target", strings.ToValidUTF8(r.Target[:200], "")+"…", "value", r.Permission.String(), "source", r.Source))
		return found
	}
	if !filepath.IsAbs(r.Target) || filepath.Clean(r.Target) != r.Target {
		report(fault.PolicyRuleTarget)
	}
	if r.Permission != Read && r.Permission != Write {
		report(fault.PolicyRulePermission)
	}
	if r.Delete && (deny || r.Permission != Write) {
		report(fault.PolicyRuleDelete)
	}
	return found
}
