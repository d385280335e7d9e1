package rpc

import (
	"context"

	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) conversationForget(ctx context.Context, p *wire.ConversationForgetParams) (*wire.ConversationForgetResult, error) {
	done, err := b.service.Forget(ctx, p.Session, session.ForgetTarget{Conversation: p.Conversation, Turn: p.Turn})
	if err != nil {
		return nil, domainError(err)
	}
	b.recorded(p.Session, wire.MethodConversationForget, done.Sequence, p.Conversation)
	return &wire.ConversationForgetResult{
		Conversations: done.Conversations, Records: done.Records, Blobs: done.Blobs, Sequence: done.Sequence,
	}, nil
}

func (b *backend) workspaceErase(ctx context.Context, p *wire.WorkspaceEraseParams) (*wire.WorkspaceEraseResult, error) {
	if !p.Confirm {
		return nil, InvalidParams("confirm", "confirm: must be true")
	}
	if err := b.service.EraseWorkspace(ctx, p.Workspace.URI); err != nil {
		return nil, domainError(err)
	}
	return &wire.WorkspaceEraseResult{Erased: true}, nil
}
