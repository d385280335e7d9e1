package rpc

import (
	"context"

	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) secretsScan(ctx context.Context, p *wire.SecretsScanParams) (*wire.SecretsScanResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.ScanSecrets(ctx, session.ScanRequest{Text: p.Text, Limit: p.Limit, Cursor: p.Cursor})
	if err != nil {
		return nil, domainError(err)
	}
	result := &wire.SecretsScanResult{
		Findings: []wire.SecretFinding{}, Families: familiesToWire(reply.Families), Records: reply.Records, Blobs: reply.Blobs,
		Bytes: reply.Bytes, Damaged: reply.Damaged, Cursor: reply.Cursor, Sequence: reply.Sequence,
	}
	for _, f := range reply.Findings {
		result.Findings = append(result.Findings, wire.SecretFinding{
			Family: f.Family, Placeholder: f.Placeholder, Kind: f.Kind, Record: f.Record, Conversation: f.Conversation,
			Turn: f.Turn, Blob: f.Blob, Sequence: f.Sequence, Line: f.Line, Offset: f.Offset,
		})
	}
	return result, nil
}

func (b *backend) secretsRescrub(ctx context.Context, p *wire.SecretsRescrubParams) (*wire.SecretsRescrubResult, error) {
	done, err := b.service.Rescrub(ctx, p.Session, p.DryRun)
	if err != nil {
		return nil, eraseError(err)
	}
	result := &wire.SecretsRescrubResult{
		Changed: done.Changed() && !p.DryRun, Families: familiesToWire(done.Families), Places: []wire.ScrubbedPlace{},
		Records: done.Records, Blobs: done.Blobs, AuditEntries: done.Audit, Replies: done.Replies, Renamed: done.Renamed, Bytes: done.Bytes,
		Redacted: done.Redacted, Packs: append([]string{}, done.Packs...), Unreached: done.Unreached, Damaged: done.Damaged, Sequence: done.Sequence,
	}
	for _, place := range done.Places {
		result.Places = append(result.Places, wire.ScrubbedPlace{Kind: place.Kind, Families: familiesToWire(place.Families)})
	}
	if result.Changed {
		b.recorded(p.Session, wire.MethodSecretsRescrub, done.Sequence, "")
	}
	return result, nil
}
