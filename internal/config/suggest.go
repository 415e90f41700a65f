package config

// suggest returns the word nearest to key among words, or "" when none is near
// enough to be what was meant.
func suggest(key string, words []string) string {
	best, limit := "", len(key)/3+2
	for _, w := range words {
		if d := distance(key, w); d < limit {
			best, limit = w, d
		}
	}
	return best
}

// distance is the number of inserted, removed, replaced or swapped
// neighbouring bytes that turn a into b. Only short words are compared.
func distance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return len(a) + len(b)
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
