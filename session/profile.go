package session

import (
	"context"
	"fmt"

	"hexapla/layers"
	"hexapla/storage"
)

// How a profile came to be in force.
const (
	ProfileByAuto     = "auto"     // chosen from the recent turns
	ProfileByHand     = "manual"   // set for the session
	ProfileBySettings = "settings" // of every session for which none was set
)

// ProfileState is the profile that is in force in a session for what is recorded
// next, and why.
type ProfileState struct {
	Profile layers.ProfileName
	Mode    string // ProfileByAuto, ProfileByHand or ProfileBySettings
	Reason  string
	// LaidOut is the profile that the newest fold went by, "" where there is no
	// pack, LaidOutAt the sequence of that fold. What is recorded goes by Profile
	// at once; what stands in packs already is only laid out anew by a fold.
	LaidOut   layers.ProfileName
	LaidOutAt int64
}

// ProfileReply is a session's profile with what it was chosen by.
type ProfileReply struct {
	ProfileState
	Since    int64                 // sequence from which on it is in force without a break, as far as sinceReach goes back
	Scores   []layers.ProfileScore // of those that can be chosen
	Policy   layers.Policy         // its numbers
	Previous layers.ProfileName    // before it was set; "" where nothing was set
	Sequence int64
}

// sinceReach is how many conversations ProfileReply.Since looks back.
const sinceReach = 50

// state returns the profile that is in force at the end of a view, in a
// conversation or the one that is about to open.
func (p profiler) state(v storage.View, ordinal int) (ProfileState, error) {
	set, byHand, err := p.set(v, v.Seq()+1)
	if err != nil {
		return ProfileState{}, err
	}
	out := ProfileState{Mode: ProfileBySettings, Reason: "it is the mode of the settings"}
	by := set.Profile
	if !byHand {
		by = p.ws.opts.Profiles.Mode
	}
	if out.Profile, err = p.resolve(v, by, ordinal); err != nil {
		return out, err
	}
	switch {
	case by == layers.ProfileAuto:
		choice, err := p.choice(v, ordinal)
		if err != nil {
			return out, err
		}
		out.Mode, out.Reason = ProfileByAuto, choice.Reason
	case byHand:
		out.Mode, out.Reason = ProfileByHand, fmt.Sprintf("it was set by hand at sequence %d", set.seq)
	}
	return out, nil
}

// now returns the number, from 0, of the conversation in progress, or of the one
// that opens next.
func (p profiler) now(v storage.View) (ordinal int, opens bool, err error) {
	n := p.line.length
	id, _, err := ongoing(v, p.session)
	if err != nil || id == "" {
		return n, true, err
	}
	return n - 1, false, nil
}

// reply tells all of the profile at the end of a view.
func (p profiler) reply(v storage.View) (ProfileReply, error) {
	out := ProfileReply{Sequence: v.Seq()}
	ordinal, opens, err := p.now(v)
	if err != nil {
		return out, err
	}
	if out.ProfileState, err = p.state(v, ordinal); err != nil {
		return out, err
	}
	choice, err := p.choice(v, ordinal)
	if err != nil {
		return out, err
	}
	out.Scores, out.Policy = choice.Scores, p.ws.policyOf(out.Profile)
	n := p.line.length
	if n == 0 {
		set, _, err := p.set(v, v.Seq()+1)
		out.Since = set.seq
		return out, err
	}
	spans, _, err := p.spans(v, max(0, n-sinceReach), n, opens)
	if err != nil {
		return out, err
	}
	for i := len(spans) - 1; i >= 0 && spans[i].Name == out.Profile; i-- {
		out.Since = spans[i].Seq
	}
	return out, nil
}

// Profile tells which profile is in force in the session.
func (s *Session) Profile() (reply ProfileReply, err error) {
	err = s.Workspace.view(0, func(v storage.View) error {
		p, err := s.Workspace.profiler(v, s.ID)
		if err != nil {
			return err
		}
		reply, err = p.reply(v)
		return err
	})
	if err == nil {
		reply.LaidOut, reply.LaidOutAt = s.laidOut()
	}
	return reply, err
}

// laidOut returns the profile of the newest fold in a pack of the default layout,
// and the fold's sequence.
func (s *Session) laidOut() (layers.ProfileName, int64) {
	s.mu.Lock()
	last := s.last[layers.LayoutStablePrefix]
	s.mu.Unlock()
	if last != nil {
		return last.pack.LaidOut, last.pack.Epoch
	}
	record, ok := s.newestAudited(layers.LayoutStablePrefix)
	if !ok {
		return "", 0
	}
	return record.LaidOut, record.Epoch
}

// ProfileRequest sets a session's profile.
type ProfileRequest struct {
	// Profile is the one to be in force from here on; layers.ProfileAuto has one
	// chosen.
	Profile layers.ProfileName `json:"profile"`
	// Now has the next pack laid out anew by it, with the window where its active
	// memory puts it. Otherwise that is left to the next fold.
	Now bool   `json:"now,omitempty"`
	Key string `json:"-"`
}

// SetProfile puts a profile in force for what the session records from here on.
// Setting what was set before changes nothing, unless it is to count now. An
// unknown name gives an *InvalidError.
func (s *Session) SetProfile(ctx context.Context, req ProfileRequest) (ProfileReply, error) {
	if !req.Profile.Valid() {
		return ProfileReply{}, invalid("profile", "must be %q, %q, %q, %q, %q or %q", layers.ProfileAuto, layers.ProfileBalanced,
			layers.ProfileCode, layers.ProfileDebugging, layers.ProfileExploration, layers.ProfileMaintenance)
	}
	type written struct {
		Previous layers.ProfileName
		Seq      int64 // as of which the reply is
	}
	was, receipt, err := write(ctx, s.Workspace, "profile/set", s.ID, req.Key, req, func(tx *storage.Tx) (written, error) {
		v := tx.View()
		p, err := s.Workspace.profiler(v, s.ID)
		if err != nil {
			return written{}, err
		}
		ordinal, _, err := p.now(v)
		if err != nil {
			return written{}, err
		}
		before, err := p.state(v, ordinal)
		if err != nil {
			return written{}, err
		}
		set, ok, err := p.set(v, v.Seq()+1)
		if err != nil || ok && set.Profile == req.Profile && !req.Now {
			return written{before.Profile, v.Seq()}, err
		}
		seq := tx.Put(storage.Draft{
			Kind: kindProfile, ID: tx.NextID("f"), Parent: s.ID, Lists: []string{listOfProfiles(s.ID)},
			Body: encode(profileRecord{Profile: req.Profile, Now: req.Now}),
		})
		return written{before.Profile, seq}, nil
	})
	if err != nil {
		return ProfileReply{}, err
	}
	var reply ProfileReply
	err = s.Workspace.view(was.Seq, func(v storage.View) error {
		p, err := s.Workspace.profiler(v, s.ID)
		if err != nil {
			return err
		}
		reply, err = p.reply(v)
		return err
	})
	reply.Previous, reply.Sequence = was.Previous, receipt.Seq
	if err == nil {
		reply.LaidOut, reply.LaidOutAt = s.laidOut()
	}
	return reply, err
}

// profileOf returns the profile that a pack was built under.
func (p *packer) profileOf(pack *layers.Pack) ProfileState {
	state := p.stream.profile
	state.LaidOut, state.LaidOutAt = pack.LaidOut, pack.Epoch
	return state
}
