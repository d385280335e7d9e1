package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"hexapla/storage"
)

// ErrQuota says that a workspace has used up what its client allows it. Reading,
// forgetting and exporting go on.
var ErrQuota = errors.New("the workspace's quota is used up")

// StorageLimits bound what a workspace keeps.
type StorageLimits struct {
	// MaxBytes bounds store.db and the stored outputs together; 0 means no bound.
	// The write that passes it is the last that is taken. The index, copies and
	// ballast do not count.
	MaxBytes int64 `json:"maxBytes"`
}

// Bounds of StorageLimits.MaxBytes: an empty store has some 100 KiB.
const (
	leastQuota = 1 << 20
	mostQuota  = 1 << 50
)

// ParseStorageLimits reads the members that are given. A number that is out of
// range gives an *InvalidError.
func ParseStorageLimits(data []byte) (StorageLimits, error) {
	var l StorageLimits
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&l); err != nil {
		return l, fmt.Errorf("storage: %w", err)
	}
	bad := InvalidError{Path: "storage.maxBytes", Message: fmt.Sprintf("is %d, must be 0 or from %d to %d", l.MaxBytes, leastQuota, int64(mostQuota))}
	switch {
	case l.MaxBytes != 0 && l.MaxBytes < leastQuota:
		bad.Limit = leastQuota
		return l, &bad
	case l.MaxBytes > mostQuota:
		bad.Limit = mostQuota
		return l, &bad
	}
	return l, nil
}

// withinQuota lists the writes that add next to nothing, or are on the way to
// making room.
func withinQuota(method string) bool {
	switch method {
	case "session/open", "session/close", "pin/remove", "context/cancel", "learning/reset":
		return true
	}
	return false
}

// admit tells whether a workspace may grow.
func (ws *Workspace) admit(v storage.View) error {
	if ws.opts.Storage.MaxBytes == 0 {
		return nil
	}
	size, err := ws.store.Size()
	if err != nil {
		return err
	}
	if size+v.Counter(counterBlobBytes) >= ws.opts.Storage.MaxBytes {
		return ErrQuota
	}
	return nil
}

// stage makes a tool's output ready to be recorded. One that the store has needs
// no room, so that a write that is sent again gets its reply.
func (ws *Workspace) stage(ctx context.Context, content []byte, mime string) (storage.StagedBlob, error) {
	if err := ws.view(0, ws.admit); errors.Is(err, ErrQuota) {
		sum := sha256.Sum256(content)
		if _, _, known := ws.store.ReadBlob(ctx, hex.EncodeToString(sum[:]), 0, 1); known != nil {
			return storage.StagedBlob{}, err
		}
	}
	return ws.store.StageBlob(ctx, content, mime)
}
