package rpc

import (
	"context"
	"errors"

	"hexapla/rpc/wire"
	"hexapla/session"
	"hexapla/storage"
)

func (b *backend) conversationForget(ctx context.Context, p *wire.ConversationForgetParams) (*wire.ConversationForgetResult, error) {
	done, err := b.service.Forget(ctx, p.Session, session.ForgetTarget{Conversation: p.Conversation, Turn: p.Turn})
	if err != nil {
		return nil, eraseError(err)
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

// eraseError is the error of something that takes text out of a store.
func eraseError(err error) error {
	if errors.Is(err, storage.ErrUnfinished) {
		e := NewError(wire.KindStorageFull, "nothing of it can be read any more, but its bytes are not gone yet; make room and ask again, or start anew")
		e.Data.Retryable, e.Data.Committed = true, wire.CommittedYes
		return e
	}
	return domainError(err)
}
