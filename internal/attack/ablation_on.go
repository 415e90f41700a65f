//go:build ablation

package attack

// CanAblate reports whether this build can leave mechanisms out.
const CanAblate = true
