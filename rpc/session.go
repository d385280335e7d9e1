package rpc

import (
	"context"

	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) sessionOpen(ctx context.Context, p *wire.SessionOpenParams) (*wire.SessionOpenResult, error) {
	reply, err := b.service.OpenSession(ctx, session.OpenRequest{
		URI: p.Workspace.URI, Session: p.Session, Agent: p.Agent, Model: p.Model, Title: p.Title, Shared: p.Shared, Key: p.Key,
	})
	if err != nil {
		return nil, domainError(err)
	}
	result := &wire.SessionOpenResult{
		Session: reply.Session, Workspace: reply.Workspace, Resumed: reply.Resumed, Sequence: reply.Sequence,
		Conversations: reply.Conversations, Ongoing: reply.Ongoing, WorkspaceState: string(reply.State),
	}
	if reply.Candidate != nil {
		candidate := wire.AdoptCandidate(*reply.Candidate)
		result.Candidate = &candidate
	}
	return result, nil
}

func (b *backend) sessionList(ctx context.Context, p *wire.SessionListParams) (*wire.SessionListResult, error) {
	var ws *session.Workspace
	switch {
	case p.Session != "":
		s, err := b.service.Session(p.Session)
		if err != nil {
			return nil, domainError(err)
		}
		ws = s.Workspace
	case p.Workspace != nil:
		var err error
		if ws, err = b.service.WorkspaceByURI(ctx, p.Workspace.URI); err != nil {
			return nil, domainError(err)
		}
	default:
		return nil, InvalidParams("workspace", "workspace: give a workspace or a session")
	}
	infos, seq, err := ws.Sessions()
	if err != nil {
		return nil, domainError(err)
	}
	result := &wire.SessionListResult{Sessions: []wire.SessionInfo{}, Store: ws.Identity(), Sequence: seq}
	for _, info := range infos {
		result.Sessions = append(result.Sessions, wire.SessionInfo(info))
	}
	return result, nil
}

func (b *backend) sessionClose(ctx context.Context, p *wire.SessionCloseParams) (*wire.SessionCloseResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	completed, seq, err := s.Close(ctx, p.Key)
	if err != nil {
		return nil, domainError(err)
	}
	b.recorded(p.Session, wire.MethodSessionClose, seq, completed)
	return &wire.SessionCloseResult{Sequence: seq, Completed: completed}, nil
}
