//go:build !ablation

package ablation

// Off reports false: this is the product.
func Off(string) bool { return false }

// Arguments are what the broker adds to the Worker's: nothing.
func Arguments() []string { return nil }
