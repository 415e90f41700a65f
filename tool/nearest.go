package tool

// nearest returns the one of names that s was most likely meant to be, "" when
// none is near.
func nearest(s string, names []string) string {
	best, bestDistance := "", max(2, len(s)/3)+1
	for _, name := range names {
		if d := distance(s, name, bestDistance); d < bestDistance && d < max(len(s), len(name)) {
			best, bestDistance = name, d
		}
	}
	return best
}

// distance counts the bytes to insert, delete or replace between a and b;
// results of limit and above are not exact.
func distance(a, b string, limit int) int {
	if len(a) > 64 || len(b) > 64 || len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
