package plan

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The longest texts a model may send, in characters. Servers crash on larger
// string bounds in a schema, so none exceeds 1000.
const (
	idLength           = 40
	titleLength        = 120
	instructionsLength = 1000
	skillLength        = 64
	maxSkills          = 8
)

// Schema returns the JSON schema of a planner's answer (CONTRACT §4) for at
// most maxTasks tasks. It uses only what every model server digests: no
// pattern, no long strings, every list bounded. Its bytes depend on maxTasks
// alone, so that the server's prompt cache holds.
func Schema(maxTasks int) json.RawMessage {
	return fmt.Appendf(nil, `{"type":"object","properties":{"tasks":{"type":"array","minItems":1,"maxItems":%d,"items":%s},`+
		`"skills":{"type":"array","maxItems":%d,"items":%s}},`+
		`"required":["tasks","skills"],"additionalProperties":false}`, maxTasks, taskSchema(maxTasks), maxSkills, stringSchema(skillLength))
}

func taskSchema(maxTasks int) string {
	properties := fmt.Sprintf(`"id":%s,"title":%s,"instructions":%s,"depends_on":{"type":"array","maxItems":%d,"items":%s},`+
		`"effect":{"type":"string","enum":[%s]},"optimistic_tokens":{"type":"integer"},"most_likely_tokens":{"type":"integer"},`+
		`"pessimistic_tokens":{"type":"integer"},"token_budget":{"type":"string","enum":[%s]}`,
		stringSchema(idLength), stringSchema(titleLength), stringSchema(instructionsLength), maxTasks, stringSchema(idLength),
		quoted(effectNames(",")), quoted(budgetNames(",")))
	return `{"type":"object","properties":{` + properties + `},"required":[` + quoted(strings.Join(taskKeys, ",")) + `],"additionalProperties":false}`
}

func stringSchema(length int) string {
	return fmt.Sprintf(`{"type":"string","minLength":1,"maxLength":%d}`, length)
}

// quoted turns a,b into "a","b".
func quoted(names string) string { return `"` + strings.ReplaceAll(names, ",", `","`) + `"` }
