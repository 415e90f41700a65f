package audit

import (
	"context"

	"sunaba/internal/agent"
)

// chat is a Model made of one function.
type chat func(context.Context, agent.ChatRequest) (agent.Reply, error)

func (c chat) Chat(ctx context.Context, r agent.ChatRequest) (agent.Reply, error) { return c(ctx, r) }

// seeingChat is a chat that knows whether it takes images.
type seeingChat struct {
	chat
	vision agent.Vision
}

func (s seeingChat) Vision(ctx context.Context) (bool, error) { return s.vision.Vision(ctx) }

// decorate replaces next's Chat and keeps its Vision, when it has one.
func decorate(next agent.Model, c chat) agent.Model {
	if v, ok := next.(agent.Vision); ok {
		return seeingChat{c, v}
	}
	return c
}
