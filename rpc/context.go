package rpc

import (
	"context"

	"hexapla/rpc/wire"
)

func (b *backend) contextRequest(ctx context.Context, p *wire.ContextRequestParams) (*wire.ContextRequestResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	req := requestsFromWire(p.Requests)
	req.MaxTokens, req.DeferTurns, req.Key = p.MaxTokens, p.DeferTurns, p.Key
	reply, err := s.RequestContext(ctx, req)
	if err != nil {
		return nil, domainError(err)
	}
	b.recorded(p.Session, wire.MethodContextRequest, reply.Sequence, "")
	return &wire.ContextRequestResult{ContextAnswer: answerToWire(reply), Sequence: reply.Sequence}, nil
}
