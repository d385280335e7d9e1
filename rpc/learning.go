package rpc

import (
	"context"

	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) learningGet(_ context.Context, p *wire.LearningGetParams) (*wire.LearningGetResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.Learned(session.LearnedRequest{Conversation: p.Conversation, Limit: p.Limit, AsOf: p.AsOf})
	if err != nil {
		return nil, domainError(err)
	}
	out := &wire.LearningGetResult{
		Conversations: make([]wire.LearnedConversation, 0, len(reply.Conversations)), Total: reply.Total, Reset: reply.Reset, Sequence: reply.Sequence,
	}
	for _, one := range reply.Conversations {
		out.Conversations = append(out.Conversations, wire.LearnedConversation(one))
	}
	return out, nil
}

func (b *backend) learningReset(ctx context.Context, p *wire.LearningResetParams) (*wire.LearningResetResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.ForgetLearned(ctx, session.ForgetRequest{Conversation: p.Conversation, Key: p.Key})
	if err != nil {
		return nil, domainError(err)
	}
	b.recorded(p.Session, wire.MethodLearningReset, reply.Sequence, p.Conversation)
	return &wire.LearningResetResult{Forgotten: reply.Forgotten, Sequence: reply.Sequence}, nil
}

func (b *backend) clusterList(ctx context.Context, p *wire.ClusterListParams) (*wire.ClusterListResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.Clusters(ctx, session.ClusterRequest{Limit: p.Limit, AsOf: p.AsOf})
	if err != nil {
		return nil, domainError(err)
	}
	out := &wire.ClusterListResult{
		Clusters: make([]wire.Cluster, 0, len(reply.Clusters)), Total: reply.Total, Single: reply.Single,
		Conversations: reply.Conversations, Limited: reply.Limited, Sequence: reply.Sequence,
	}
	for _, c := range reply.Clusters {
		cluster := wire.Cluster{
			Label: c.Label, Names: list(c.Names), Topic: c.Topic, Kind: string(c.Kind), Members: make([]wire.ClusterMember, 0, len(c.Members)),
			First: timeToWire(c.First), Last: timeToWire(c.Last), Tokens: c.Tokens,
		}
		for _, m := range c.Members {
			cluster.Members = append(cluster.Members, wire.ClusterMember{
				Conversation: m.Conversation, Topic: m.Topic, Kind: string(m.Kind), Score: m.Score, Tokens: m.Tokens,
			})
		}
		out.Clusters = append(out.Clusters, cluster)
	}
	return out, nil
}
