package bench

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// samples are durations of one kind of act.
type samples []time.Duration

func (s samples) median() time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[len(sorted)/2]
}

func (s samples) String() string {
	if len(s) == 0 {
		return "-"
	}
	return fmt.Sprintf("%s (%s-%s)", short(s.median()), short(slices.Min(s)), short(slices.Max(s)))
}

// short shows three digits.
func short(d time.Duration) string {
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "us"}} {
		if d >= u.of {
			return fmt.Sprintf("%.3g %s", float64(d)/float64(u.of), u.name)
		}
	}
	return fmt.Sprintf("%d ns", d.Nanoseconds())
}

// figure is one line of the table.
type figure struct {
	name        string
	ours, floor samples
	against     string // what the floor is
	aim         string
}

// act does one thing and returns how long it took.
type act func() (time.Duration, error)

// inTurns does ours and floor alternately, rounds times each, after one of
// each that does not count.
func inTurns(rounds int, ours, floor act) (a, b samples, err error) {
	for i := range rounds + 1 {
		one, err := ours()
		if err != nil {
			return nil, nil, err
		}
		other, err := floor()
		if err != nil {
			return nil, nil, err
		}
		if i > 0 {
			a, b = append(a, one), append(b, other)
		}
	}
	return a, b, nil
}

// timed is the act of doing something that is timed as a whole.
func timed(do func() error) act {
	return func() (time.Duration, error) {
		began := time.Now()
		err := do()
		return time.Since(began), err
	}
}

// each is the act of doing something n times; its duration is that of one.
func each(n int, do func() error) act {
	return func() (time.Duration, error) {
		began := time.Now()
		for range n {
			if err := do(); err != nil {
				return 0, err
			}
		}
		return time.Since(began) / time.Duration(n), nil
	}
}

// printer writes figures as they come.
type printer struct {
	out io.Writer
}

// table writes a block of figures under a heading.
func (p printer) table(heading string, figures []figure) error {
	fmt.Fprintf(p.out, "\n%s\n", heading)
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  what\tours: median (min-max)\tfloor: median (min-max)\tratio\taim\tthe floor is")
	for _, f := range figures {
		ratio := "-"
		if m := f.floor.median(); m > 0 {
			ratio = fmt.Sprintf("%.2f", float64(f.ours.median())/float64(m))
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\t%s\n", f.name, f.ours, f.floor, ratio, f.aim, f.against)
	}
	return w.Flush()
}

// plain writes one line that is no duration.
func (p printer) plain(name, value, aim string) {
	fmt.Fprintf(p.out, "  %s: %s   (aim: %s)\n", name, value, aim)
}
