package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"sunaba/plan"
)

// What the loop says to the model is English whatever the language of the
// answer: it is part of the program, not text for people.

const askPlan = `Plan this request; do not work on it yet. Answer with one JSON object and nothing else:
{"tasks":[{"id":"t1","title":"…","instructions":"…","depends_on":[],"effect":"none|read|write|execute","optimistic_tokens":400,"most_likely_tokens":900,"pessimistic_tokens":2500,"token_budget":"4K"}],"skills":[]}
Use as few tasks as possible: one is right for most requests. Write title and instructions so that they can be worked without this message. effect is what must be observed before the task may end: none (only an explanation), read (look at files), write (change files), execute (run a command). 0 < optimistic <= most_likely <= pessimistic <= token_budget; token_budget is 1K, 2K, 4K, 8K, 16K, 32K, 64K or 128K.`

func askPlanAgain(problems string) string {
	return "That plan cannot be used:\n" + problems + "\nAnswer with the corrected JSON object and nothing else."
}

func askPlanWithSchema(schema json.RawMessage) string {
	return "Answer with nothing but one JSON object that fits this JSON schema:\n" + string(schema)
}

func askReplan(t plan.Task, why string, done []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Task %s could not be finished: %s\n", t.ID, why)
	if len(done) > 0 {
		fmt.Fprintf(&b, "Completed tasks stay as they are and may be depended on: %s.\n", strings.Join(done, ", "))
	}
	b.WriteString("Plan what is left of the request in another way, with what is permitted; do not work on it yet. If nothing permitted can reach the goal, repeat the tasks as they were. Answer with one JSON object of the same form as before and nothing else.")
	return b.String()
}

func startTask(t plan.Task, number, total int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Current task %s (%d of %d): %s\n%s\n", t.ID, number, total, t.Title, t.Instructions)
	switch string(t.Effect) {
	case "none":
		b.WriteString("It needs no effect: answer with finish_task.")
	case "read":
		b.WriteString("Before it may end, files must have been looked at.")
	case "write":
		b.WriteString("Before it may end, a file must have been changed.")
	default:
		b.WriteString("Before it may end, a command must have been run.")
	}
	return b.String()
}

func lostReply(names string) string {
	return "Your last reply was empty or its tool call was lost. Call one of the tools in their own call format: " + names + "."
}

const (
	cutReply    = "Your last reply was cut off because it was too long. Reply more briefly; write long files in several steps."
	cutCall     = "Not executed: the reply was cut off because it was too long. Call it again with less in one call; write long files in several steps."
	textCall    = "That looks like a tool call written as text; it was not executed. Use the tools' own call format, or answer in plain text if no call was meant. "
	lateCall    = "Not executed: the task has ended already."
	stoppedCall = "Not executed: the plan is about to be changed."
	deniedAgain = "This exact call was refused before, so it was not executed again, and it will not be. Do something else, or call finish_task with outcome failed."
	sameAgain   = "This same call has given this same result three times. It will not change: do something else, or finish the task."
	endTask     = "The task is not ended yet. If it is done, call finish_task with a summary; if not, go on with tool calls."
	needSummary = "Not accepted: the summary is empty. It is what the person will read."
)

func notMadeGood(what, code string) string {
	return "Not accepted yet: what you tried last on " + what + " failed (" + code + ") and was not made good. Do it in another way first, or call finish_task again with a summary that says it was not done, or with outcome failed."
}

func noEffect(effect string) string {
	return "Not accepted: this task needs an effect of kind " + effect + ", but " + missing(effect) + " since the task began. Do it with tool calls first, or call finish_task with outcome failed and say why it cannot be done."
}
