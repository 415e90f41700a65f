package cli

import (
	"context"
	"strings"

	"sunaba/fault"
	"sunaba/internal/config"
	"sunaba/internal/ollama"
)

// modelConfig is the model adapter's configuration.
func modelConfig(o config.Ollama) ollama.Config {
	return ollama.Config{
		BaseURL: o.BaseURL, Model: o.Model, Think: o.Think, KeepAlive: o.KeepAlive, RequestTimeout: o.RequestTimeout,
		Retries: o.Retry.Retries, Backoff: o.Retry.Backoff,
		NumCtx: o.Options.NumCtx, Options: modelOptions(o.Options), Extra: o.ExtraOptions,
	}
}

// modelOptions returns the options that are set, by Ollama's names.
func modelOptions(o config.Options) map[string]any {
	m := map[string]any{}
	if len(o.Stop) > 0 {
		m["stop"] = o.Stop
	}
	put(m, "temperature", o.Temperature)
	put(m, "num_predict", o.NumPredict)
	put(m, "top_k", o.TopK)
	put(m, "top_p", o.TopP)
	put(m, "min_p", o.MinP)
	put(m, "typical_p", o.TypicalP)
	put(m, "repeat_last_n", o.RepeatLastN)
	put(m, "repeat_penalty", o.RepeatPenalty)
	put(m, "presence_penalty", o.PresencePenalty)
	put(m, "frequency_penalty", o.FrequencyPenalty)
	put(m, "seed", o.Seed)
	put(m, "num_keep", o.NumKeep)
	put(m, "num_batch", o.NumBatch)
	put(m, "num_gpu", o.NumGPU)
	put(m, "main_gpu", o.MainGPU)
	put(m, "use_mmap", o.UseMMap)
	put(m, "num_thread", o.NumThread)
	put(m, "penalize_newline", o.PenalizeNewline)
	put(m, "numa", o.NUMA)
	return m
}

func put[T any](m map[string]any, name string, v *T) {
	if v != nil {
		m[name] = *v
	}
}

// modelProbe asks Ollama whether the configured model can do the work.
type modelProbe struct{ settings config.Ollama }

// Probe returns why the model cannot be used: llm.unavailable, llm.model_missing
// or llm.no_tools.
func (p modelProbe) Probe(ctx context.Context) error {
	c := modelConfig(p.settings)
	c.Retries = 0
	client, err := ollama.New(c)
	if err != nil {
		return err
	}
	defer client.Close()
	info, err := client.Check(ctx)
	if err != nil {
		return err
	}
	switch {
	case !info.Reachable:
		return fault.New(fault.LLMUnavailable, "probe", "base_url", c.BaseURL, "attempts", "1")
	case !info.ModelPresent:
		return fault.New(fault.LLMModelMissing, "probe", "model", c.Model)
	case len(info.Capabilities) > 0 && !strings.Contains(" "+strings.Join(info.Capabilities, " ")+" ", " tools "):
		return fault.New(fault.LLMNoTools, "probe", "model", c.Model)
	}
	return nil
}
