//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/storage"
)

// TestS17_DoctorTellsOfThePlace: doctor warns of a data folder that lies where it
// should not, of everything that is wrong, and of nothing where all is well.
func TestS17_DoctorTellsOfThePlace(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	made := func(mode os.FileMode, names ...string) string {
		dir := base
		for _, name := range names {
			dir = filepath.Join(dir, name)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir, mode); err != nil { // of the last, against the umask
			t.Fatal(err)
		}
		return dir
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(made(0o700, "Dropbox", "target"), link); err != nil {
		t.Fatal(err)
	}
	foreign := made(0o755, "foreign")
	cases := map[string][]string{
		filepath.Join(made(0o700, "well"), "data"):                        nil,
		filepath.Join(made(0o777|os.ModeSticky, "sticky"), "data"):        nil,
		filepath.Join(made(0o700, "Dropbox"), "data"):                     {"Dropbox synchronises"},
		filepath.Join(made(0o700, "OneDrive - Work"), "data"):             {"OneDrive synchronises"},
		filepath.Join(made(0o700, "Library", "Mobile Documents"), "data"): {"iCloud synchronises"},
		filepath.Join(made(0o700, "iCloudDrive"), "data"):                 {"iCloud synchronises"},
		filepath.Join(made(0o700, "repository", ".git"), "..", "data"):    {"in a repository"},
		filepath.Join(made(0o777, "open"), "data"):                        {"all users may change"},
		filepath.Join(made(0o777, "Nextcloud"), "data"):                   {"Nextcloud synchronises", "all users may change"},
		filepath.Join(link, "data"):                                       {"Dropbox synchronises"},
		filepath.Join(foreign, "data"):                                    {"belongs to another user"},
	}
	for dir, wants := range cases {
		c, _ := startOn(t, dir, "", "--force-data-dir")
		c.say(c.openAt("file:///placed").Session, "something")
		c.stop()
		if strings.Contains(dir, "foreign") {
			if err := os.Chown(foreign, 12345, -1); err != nil {
				t.Logf("only the superuser can give folders away: %v", err)
				continue
			}
		}
		o := hexapla(t, nil, "doctor", "--all", "--json", "--data-dir", dir)
		var all []examined
		if err := json.Unmarshal([]byte(o.out), &all); err != nil {
			t.Fatalf("%s: %v: %+v", dir, err, o)
		}
		if len(wants) == 0 {
			if o.code != 0 || len(all) != 1 || all[0].Store == dataFolder {
				t.Errorf("%s: %+v", dir, o)
			}
			continue
		}
		if o.code != 1 || len(all) != 2 || all[0].Store != dataFolder || len(all[0].Findings) != len(wants) {
			t.Errorf("%s: %+v", dir, o)
			continue
		}
		for i, want := range wants {
			if f := all[0].Findings[i]; !strings.Contains(f.Text, want) || f.Level != storage.LevelWarning || f.Next == "" {
				t.Errorf("%s: %+v, want %q", dir, f, want)
			}
		}
		if text := hexapla(t, nil, "doctor", "--all", "--data-dir", dir); !strings.HasPrefix(text.out, dataFolder+"\n  warning  place  it ") {
			t.Errorf("%s: %s", dir, text.out)
		}
	}
	if o := hexapla(t, nil, "doctor", "--all", "--data-dir", filepath.Join(base, "Dropbox", "none")); o.code != 0 || !strings.Contains(o.out, "there are no stores") {
		t.Errorf("a folder that is not there: %+v", o)
	}
}
