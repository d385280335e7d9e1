package storage_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"hexapla/storage"
)

// FuzzRecord: a value that has the right checksum and any content is a record or
// an error, and a record is read as it was written.
func FuzzRecord(f *testing.F) {
	key := binary.BigEndian.AppendUint64(nil, 7)
	f.Add([]byte{}, "turn", "c1#1", "c1", []byte("text"))
	f.Add(storage.RecordContent(key, storage.Draft{Kind: "k", ID: "i"}), "", "", "", []byte{})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, "\x00", "\xff", "é", []byte{0})
	f.Fuzz(func(t *testing.T, content []byte, kind, id, parent string, body []byte) {
		_, _ = storage.ReadRecord(key, content)
		_, _ = storage.ReadRecord(content, content)
		_, _ = storage.ReadSchema(content), storage.ReadState(content)
		r, err := storage.ReadRecord(key, storage.RecordContent(key, storage.Draft{Kind: kind, ID: id, Parent: parent, Body: body}))
		if err != nil || r.Seq != 7 || r.Kind != kind || r.ID != id || r.Parent != parent || !bytes.Equal(r.Body, body) {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// FuzzGuard harms a sound file anywhere: the guard that looks at it before bbolt
// does says yes or no, whatever it is.
func FuzzGuard(f *testing.F) {
	dir := f.TempDir()
	s := openAt(f, dir)
	for i := range 20 {
		if _, err := killedWrite(f.Context(), s, 0, i); err != nil {
			f.Fatal(err)
		}
	}
	closeStore(f, s)
	sound, err := os.ReadFile(dataFile(dir))
	if err != nil {
		f.Fatal(err)
	}
	if err := storage.GuardBytes(sound); err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), []byte{}, uint32(1<<30))
	f.Add(uint32(4096), []byte{1, 2, 3, 4, 5, 6, 7, 8}, uint32(1<<30))
	f.Add(uint32(8192+8), []byte{0xff, 0xff, 0xff, 0xff}, uint32(9000))
	f.Fuzz(func(t *testing.T, at uint32, with []byte, size uint32) {
		data := bytes.Clone(sound[:min(int(size), len(sound))])
		if int(at) < len(data) {
			copy(data[at:], with)
		}
		_ = storage.GuardBytes(data) // what it says of harm is TestS10's
	})
}
