package rpc

import (
	"context"

	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) toolRecord(ctx context.Context, p *wire.ToolRecordParams) (*wire.ToolRecordResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	input, err := inputText(p.Input)
	if err != nil {
		return nil, InvalidParams("input", "input: cannot be read")
	}
	reply, err := s.RecordTool(ctx, session.ToolRequest{
		Tool: p.Tool, Input: input, Content: p.Content, MIME: p.MIME, IsError: p.IsError, Key: p.Key,
	})
	if err != nil {
		return nil, domainError(err)
	}
	b.recorded(p.Session, wire.MethodToolRecord, reply.Sequence, "")
	return &wire.ToolRecordResult{
		Compressed: compressedToWire(reply.Result.Compressed, reply.Result.Blob), Duplicate: reply.Duplicate,
		Sequence: reply.Sequence, Warnings: warnings(ctx),
	}, nil
}

func (b *backend) blobRead(ctx context.Context, p *wire.BlobReadParams) (*wire.BlobReadResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	ref, text, next, err := s.Blob(ctx, p.SHA256, p.Offset, p.Length)
	if err != nil {
		return nil, domainError(err)
	}
	return &wire.BlobReadResult{Blob: blobToWire(ref), Text: text, Offset: p.Offset, NextOffset: next}, nil
}
