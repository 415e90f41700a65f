package config

import (
	"math"
	"slices"

	"sunaba/fault"
)

// options reads ollama.options and ollama.extra_options (OLL-03..05). A known
// option that stands only among the extra ones is read as the option it is, so
// that its type is checked; one that stands in both comes from options.
func (d *decoder) options(m *Ollama, options, extra cursor) {
	o, x := options.object(), extra.object()
	at := func(key string) cursor {
		c, other := o.at(key), x.at(key)
		switch {
		case !other.given():
		case c.given() || key == "num_ctx" || key == "temperature":
			other.warn(fault.ConfigValue, "option_wins")
		default:
			other.warn(fault.ConfigValue, "option_known")
			return other
		}
		return c
	}
	op := &m.Options
	op.NumCtx = at("num_ctx").count(16384, 512, 1<<22)
	temperature := at("temperature").number(0.2, 0, 10)
	op.Temperature = &temperature
	op.NumPredict = maybeCount(at("num_predict"), -2, 1<<22)
	op.TopK = maybeCount(at("top_k"), 0, 1<<20)
	op.TopP = maybeNumber(at("top_p"), 0, 1)
	op.MinP = maybeNumber(at("min_p"), 0, 1)
	op.TypicalP = maybeNumber(at("typical_p"), 0, 1)
	op.RepeatLastN = maybeCount(at("repeat_last_n"), -1, 1<<22)
	op.RepeatPenalty = maybeNumber(at("repeat_penalty"), 0, 10)
	op.PresencePenalty = maybeNumber(at("presence_penalty"), -10, 10)
	op.FrequencyPenalty = maybeNumber(at("frequency_penalty"), -10, 10)
	op.Seed = maybeCount(at("seed"), math.MinInt32, math.MaxInt32)
	op.Stop = stop(at("stop"))
	op.NumKeep = maybeCount(at("num_keep"), -1, 1<<22)
	op.NumBatch = maybeCount(at("num_batch"), 1, 1<<20)
	op.NumGPU = maybeCount(at("num_gpu"), -1, 100000)
	op.MainGPU = maybeCount(at("main_gpu"), 0, 1024)
	op.UseMMap = maybeBoolean(at("use_mmap"))
	op.NumThread = maybeCount(at("num_thread"), 0, 4096)
	op.PenalizeNewline = maybeBoolean(at("penalize_newline"))
	op.NUMA = maybeBoolean(at("numa"))
	o.done()

	for _, f := range x.rest() {
		if m.ExtraOptions == nil {
			m.ExtraOptions = map[string]any{}
		}
		m.ExtraOptions[f.key] = cursor{d: d, node: f.value, path: join(x.path, f.key)}.free()
	}
}

func maybeCount(c cursor, low, high int) *int {
	if !c.given() {
		return nil
	}
	v := c.count(max(low, 0), low, high)
	return &v
}

func maybeNumber(c cursor, low, high float64) *float64 {
	if !c.given() {
		return nil
	}
	v := c.number(max(low, 0), low, high)
	return &v
}

func maybeBoolean(c cursor) *bool {
	if !c.given() {
		return nil
	}
	v := c.boolean(false)
	return &v
}

// stop reads the stop sequences; they may hold line breaks.
func stop(c cursor) []string {
	var out []string
	for _, item := range c.items() {
		text := item.text("")
		if text == "" || slices.Contains(out, text) {
			item.problem(fault.ConfigValue, "stop")
			continue
		}
		out = append(out, text)
	}
	return out
}
