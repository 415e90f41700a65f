package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sunaba/fault"
)

// Budget is a Token Budget Class in tokens: one of 1K, 2K, 4K … 128K. It is a
// plan value for the LLM tokens of a whole Task; it limits nothing and is not
// the model's context length (S1-122, C-74).
type Budget int

// Budgets returns the classes in ascending order (S1-114..121).
func Budgets() []Budget {
	return []Budget{1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10}
}

func (b Budget) valid() bool { return slices.Contains(Budgets(), b) }

// String returns the class's name, such as "4K", or the plain number of a
// Budget that is no class.
func (b Budget) String() string {
	if b.valid() {
		return strconv.Itoa(int(b)/1024) + "K"
	}
	return strconv.Itoa(int(b))
}

// ParseBudget reads a class's exact name; anything else is a plan.value fault.
func ParseBudget(text string) (Budget, error) {
	for _, b := range Budgets() {
		if b.String() == text {
			return b, nil
		}
	}
	return 0, fault.New(fault.PlanValue, "parse_budget", "at", "token_budget", "expected", budgetNames(" | "))
}

// MarshalText writes the class's name; a Budget that is no class is a fault.
func (b Budget) MarshalText() ([]byte, error) {
	if !b.valid() {
		return nil, fault.New(fault.PlanValue, "marshal_budget", "at", "token_budget", "expected", budgetNames(" | "))
	}
	return []byte(b.String()), nil
}

// UnmarshalText is ParseBudget for decoders.
func (b *Budget) UnmarshalText(text []byte) error {
	parsed, err := ParseBudget(string(text))
	if err != nil {
		return err
	}
	*b = parsed
	return nil
}

func budgetNames(separator string) string {
	var names []string
	for _, b := range Budgets() {
		names = append(names, b.String())
	}
	return strings.Join(names, separator)
}

// Cost is a number of expected tokens in sixths, so that sums and comparisons
// are exact (C-55).
type Cost int64

// String prints the tokens with two decimals, rounded half up: "1234.50".
func (c Cost) String() string {
	hundredths := (int64(c)*100 + 3) / 6
	return fmt.Sprintf("%d.%02d", hundredths/100, hundredths%100)
}

// Tokens are what the server measured (S1-129): Input sums prompt_eval_count,
// Output sums eval_count.
type Tokens struct {
	Input  int `json:"input"`
	Output int `json:"output"`
}

// Total returns Input + Output.
func (t Tokens) Total() int { return t.Input + t.Output }
