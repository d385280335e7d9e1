package storage_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hexapla/storage"
)

// machineRuns is an environment variable: how many runs TestS2_StateMachine does.
// A run has as many steps as -rapid.steps says, and each of the machines that share
// the runs does no more of them than -rapid.checks.
const machineRuns = "STORAGE_MACHINE_RUNS"

// TestS2_StateMachine does everything that can be done to a store in any order:
// writing, repeating, erasing, compacting, closing, losing and healing blobs,
// copies and going back to them; and holds it to a map after each step. Machines
// run side by side, as they mostly wait for the disk.
func TestS2_StateMachine(t *testing.T) {
	t.Parallel()
	const machines = 4
	runs := count(t, machineRuns, 24)
	for i := range machines {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			root, left, failed := t.TempDir(), (runs+i)/machines, false
			rapid.Check(t, func(rt *rapid.T) {
				if !failed { // else rapid looks for the shortest run that fails
					if left--; left < 0 {
						return
					}
				}
				failed = true
				dir, err := os.MkdirTemp(root, "")
				if err != nil {
					rt.Fatal(err)
				}
				m := &machine{t: t, dir: dir, gone: map[int]bool{}}
				m.open()
				defer func() {
					m.s.Close()
					os.RemoveAll(dir)
				}()
				rt.Repeat(map[string]func(*rapid.T){
					"write": func(*rapid.T) {
						m.must(plant(t.Context(), m.s, m.n))
						m.n++
					},
					"again": func(rt *rapid.T) {
						if i := m.one(rt); i >= 0 {
							if again, err := m.s.Write(t.Context(), storage.Op{Key: fmt.Sprint("key", i)}, nil); err != nil || !again.Repeated {
								rt.Fatalf("%d again: %+v, %v", i, again, err)
							}
						}
					},
					"erase": func(rt *rapid.T) {
						if i := m.one(rt); i >= 0 {
							m.must(m.s.Erase(t.Context(), without(m.s, i), nil))
							m.gone[i] = true
							if files := holds(t, dir, canary(i)); len(files) > 0 {
								rt.Fatalf("%d is still in %v", i, files)
							}
						}
					},
					"compact": func(*rapid.T) {
						_, err := m.s.Compact(t.Context())
						m.must(err)
					},
					"reopen": func(*rapid.T) {
						m.must(m.s.Close())
						m.open()
					},
					"salvage": func(*rapid.T) {
						m.must(m.s.Close())
						done, err := storage.Repair(t.Context(), storage.Options{Dir: dir}, storage.RepairOptions{Only: storage.RemedySalvage, Apply: true})
						m.must(err)
						if done.Seq != int64(4*m.n) || done.Salvaged.Lost != 0 && len(m.gone) == 0 {
							rt.Fatalf("salvaged %+v of %d", done.Salvaged, m.n)
						}
						m.must(os.RemoveAll(dir + "/quarantine"))
						m.open()
					},
					"lose a blob": func(rt *rapid.T) {
						i := m.one(rt)
						if i < 0 || m.gone[i] {
							return
						}
						content := []byte(strings.Repeat("large "+canary(i)+" ", 400))
						staged, err := m.s.StageBlob(t.Context(), content, "text/plain")
						m.must(err)
						sha := staged.Ref.SHA256
						m.must(os.Remove(dir + "/blobs/" + sha[:2] + "/" + sha))
						if _, _, err := m.s.ReadBlob(t.Context(), sha, 0, -1); err == nil {
							rt.Fatal("a blob that is not there was read")
						}
						_, err = m.s.StageBlob(t.Context(), content, "text/plain")
						m.must(err)
					},
					"": func(rt *rapid.T) { m.check(rt) },
				})
				failed = false
			})
		})
	}
}

type machine struct {
	t    testing.TB
	dir  string
	s    *storage.Store
	n    int
	gone map[int]bool
}

func (m *machine) open() {
	m.s = openWith(m.t, storage.Options{Dir: m.dir, Logf: func(string, ...any) {}})
}

func (m *machine) must(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

// one chooses a write; -1 if there is none.
func (m *machine) one(rt *rapid.T) int {
	if m.n == 0 {
		return -1
	}
	return rapid.IntRange(0, m.n-1).Draw(rt, "which")
}

func (m *machine) check(rt *rapid.T) {
	snapshot, err := m.s.Snapshot()
	if err != nil {
		rt.Fatal(err)
	}
	defer snapshot.Release()
	v := snapshot.View()
	var want, got []string
	for i := range m.n {
		if !m.gone[i] {
			want = append(want, canary(i))
		}
	}
	entries, err := v.List("all", 0, v.ListLen("all"))
	if err != nil {
		rt.Fatal(err)
	}
	for _, entry := range entries {
		r, ok, err := v.Latest("turn", entry.ID)
		if err != nil || !ok {
			rt.Fatalf("%s: %v, %v", entry.ID, ok, err)
		}
		got = append(got, strings.TrimPrefix(string(r.Body), "second version "))
	}
	if !slices.Equal(want, got) || v.Seq() != int64(4*m.n) {
		rt.Fatalf("at %d\n%v\nexpected\n%v", v.Seq(), got, want)
	}
	report, err := m.verify(v)
	if err != nil || len(report) > 0 {
		rt.Fatalf("%v, %v", report, err)
	}
}

// verify checks the whole store; the snapshot that is held does not hinder it.
func (m *machine) verify(storage.View) ([]string, error) {
	report, err := m.s.Verify(m.t.Context(), true)
	return report.Problems, err
}
