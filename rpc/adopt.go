package rpc

import (
	"context"

	"hexapla/rpc/wire"
)

func (b *backend) workspaceAdopt(ctx context.Context, p *wire.WorkspaceAdoptParams) (*wire.WorkspaceAdoptResult, error) {
	before, err := b.service.Adopt(ctx, p.Workspace.URI, p.From)
	if err != nil {
		return nil, domainError(err)
	}
	return &wire.WorkspaceAdoptResult{Workspace: p.From, Before: before}, nil
}
