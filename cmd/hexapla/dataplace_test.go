//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// TestY15_NoSettingsInTheRepository: a workspace is looked at with stat and nothing
// in it is opened but .hexapla.yaml, which can set limits of tokens and nothing else,
// so no file that is checked in can change what is stored, where, and what is kept out.
func TestY15_NoSettingsInTheRepository(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal("this test needs strace: ", err)
	}
	base := t.TempDir()
	project, data, elsewhere := filepath.Join(base, "project"), filepath.Join(base, "data"), filepath.Join(base, "elsewhere")
	settings := fmt.Sprintf(`{"dataDir":%[1]q,"data-dir":%[1]q,"command":["touch",%[1]q],"redaction":false,"policy":{"summaries":1},"storage":{"maxBytes":1}}`, elsewhere)
	for _, name := range []string{".hexapla.json", "hexapla.json", ".hexapla/config.json", ".hexapla/hexapla.json", "hexapla.toml", ".env", ".vscode/settings.json", ".config/hexapla/config.json", "policy.json", ".hexapla.yaml"} {
		path := filepath.Join(project, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(settings), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(base, "trace")
	cmd := exec.Command(strace, "-f", "-qq", "-s", "4096", "-o", trace, "-e", "trace=%file", self, "serve", "--data-dir", data)
	cmd.Dir = project
	c, _ := startCommandIn(t, cmd, nil)
	opened := c.openAt(fileURI(project))
	c.say(opened.Session, "Which settings are in force?")
	status := call[wire.LimitsStatusResult](c, wire.MethodLimitsStatus, wire.LimitsStatusParams{LimitTarget: wire.LimitTarget{Session: opened.Session}})
	if status.Packs || len(status.Problems) != 1 || status.Problems[0].Key != "dataDir" {
		t.Errorf("what is no limit was not refused: %+v", status)
	}
	c.stop()
	raw, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	looked, read := 0, false
	for line := range strings.Lines(string(raw)) {
		if !strings.Contains(line, `"`+project) {
			continue
		}
		call := regexp.MustCompile(`^\d+ +(\w+)\(`).FindStringSubmatch(line)
		if call != nil && slices.Contains([]string{"statx", "stat", "newfstatat", "lstat", "getcwd", "readlink", "readlinkat"}, call[1]) && strings.Contains(line, `"`+project+`"`) {
			looked++
			continue
		}
		if call != nil && strings.Contains(line, `"`+filepath.Join(project, ".hexapla.yaml")+`"`) {
			if call[1] == "openat" {
				read = read || strings.Contains(line, "O_RDONLY|O_NONBLOCK|O_NOFOLLOW|O_CLOEXEC")
			}
			if slices.Contains([]string{"openat", "statx", "stat", "newfstatat", "lstat"}, call[1]) {
				continue
			}
		}
		t.Errorf("it does more than look at the folder: %s", line)
	}
	if !read {
		t.Error("the trace does not show that .hexapla.yaml was opened, and opened safely")
	}
	if looked == 0 {
		t.Error("the trace does not show that the folder was looked at")
	}
	if _, err := os.Stat(elsewhere); !os.IsNotExist(err) {
		t.Errorf("the settings were obeyed: %v", err)
	}
}

// TestY16_DataFolderInARepository: it is refused, and if it is forced nothing of it
// gets into the repository. The same goes for folders that are synchronised (S17).
func TestY16_DataFolderInARepository(t *testing.T) {
	t.Parallel()
	for _, mark := range []string{".git", ".hg", ".jj", ".svn"} {
		repository := t.TempDir()
		if err := os.Mkdir(filepath.Join(repository, mark), 0o700); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(repository, link); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{filepath.Join(repository, "deep", "down"), filepath.Join(link, "data"), repository} {
			for _, args := range [][]string{{"serve"}, {"serve", "--daemon=off"}, {"daemon"}, {"search", "x"}, {"restore"}} {
				o := hexapla(t, map[string]string{"PWD": repository}, append(args, "--data-dir", dir)...)
				if o.code != 1 || !strings.Contains(o.errs, "lies in a repository") || !strings.Contains(o.errs, "--force-data-dir") {
					t.Errorf("%s: %v: %+v", mark, args, o)
				}
			}
		}
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal("this test needs git: ", err)
	}
	repository := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(git, append([]string{"-C", repository}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	run("init", "-q")
	c, _ := startOn(t, filepath.Join(repository, "data"), "", "--force-data-dir")
	c.say(c.openAt("file:///forced").Session, "something")
	c.stop()
	if status := run("status", "--porcelain", "--untracked-files=all"); status != "" {
		t.Errorf("git sees %s", status)
	}
}

// TestS17_UnfitFileSystems: a synchronised folder is refused unless it is forced,
// and network file systems are known by their numbers.
func TestS17_UnfitFileSystems(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for _, name := range []string{"Dropbox/hexapla", "OneDrive/x/y", "OneDrive - Work/x", "Library/Mobile Documents/x", "Library/CloudStorage/x", "Nextcloud"} {
		dir := filepath.Join(base, name)
		o := hexapla(t, nil, "serve", "--daemon=off", "--data-dir", dir)
		if o.code != 1 || !strings.Contains(o.errs, "synchronises") {
			t.Errorf("%s: %+v", name, o)
		}
	}
	marked := filepath.Join(base, "shared")
	if err := os.MkdirAll(filepath.Join(marked, ".stfolder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if o := hexapla(t, nil, "daemon", "--data-dir", filepath.Join(marked, "data")); o.code != 1 || !strings.Contains(o.errs, "Syncthing") {
		t.Errorf("%+v", o)
	}
	c, _ := startOn(t, filepath.Join(base, "Dropbox", "hexapla"), "", "--force-data-dir")
	c.say(c.openAt("file:///forced").Session, "something")
	c.stop()
	for magic, kind := range map[int64]string{0x6969: "NFS", 0xFF534D42: "SMB", 0xFE534D42: "SMB", 0x517B: "SMB", 0x01021997: "9P", 0x00C36400: "Ceph", 0xEF53: "", 0x01021994: "", 0x9123683E: "", 0x65735546: ""} {
		if got := networkKind(magic); got != kind {
			t.Errorf("%x: %q, want %q", magic, got, kind)
		}
		if got := networkKind(int64(int32(uint32(magic)))); got != kind { // as 32-bit systems give it
			t.Errorf("%x with a sign: %q, want %q", magic, got, kind)
		}
	}
	mounts := "36 35 0:52 / /mnt/far rw,nosuid - fuse.sshfs host:/home rw,user_id=1000\n" +
		"37 35 0:53 / /mnt/near\\040here rw - fuse.gocryptfs /home/cipher rw\n" + "38 35 0:54 / /run/doc rw shared:7 - fuse.rclone drive: rw\n39 35 8:1 / / rw - ext4 /dev/sda1 rw\n"
	for device, program := range map[string]string{"0:52": "sshfs", "0:53": "", "0:54": "rclone", "8:1": "", "0:5": ""} {
		if got := programOf(mounts, device); got != program {
			t.Errorf("device %s: %q, want %q", device, got, program)
		}
	}
	if kind := networkOf(base); kind != "" {
		t.Errorf("the folder for temporary files lies on %s", kind)
	}
}

// TestY2_PlantedLinks: a link in the place of anything in the data folder is
// refused, other workspaces are served, and nothing is written to where it leads.
func TestY2_PlantedLinks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"workspaces", "ID", "ID/store.db", "ID/blobs", "ID/lock", "ID/manifest.json", "ID/index", "ID/index/live", "ID/snapshots", "ID/quarantine"} {
		t.Run(strings.ReplaceAll(name, "/", " "), func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			data, target := filepath.Join(base, "data"), filepath.Join(base, "target")
			c, _ := startOn(t, data, "")
			opened := c.openAt("file:///planted")
			c.say(opened.Session, "something")
			c.stop()
			path := filepath.Join(data, "workspaces", strings.ReplaceAll(name, "ID", opened.Workspace))
			if name == "workspaces" {
				path = filepath.Join(data, name)
			}
			// What was there is moved out, and a link leads to it: what would be
			// followed works.
			if err := os.Rename(path, target); os.IsNotExist(err) {
				err = os.Mkdir(target, 0o700)
				if err != nil {
					t.Fatal(err)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, path); err != nil {
				t.Fatal(err)
			}
			before := tree(t, target)
			c, errs := startOn(t, data, "")
			defer c.stop()
			err := c.Call(t.Context(), wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: "file:///planted"}}, nil)
			if !rpc.IsKind(err, wire.KindCorrupt) {
				t.Errorf("opened: %v; %s", err, errs.String())
			}
			if after := tree(t, target); after != before {
				t.Errorf("where the link leads:\n%s\nwas\n%s", after, before)
			}
			if name != "workspaces" {
				c.say(c.openAt("file:///other").Session, "served")
			}
		})
	}
}

// tree is what is below a folder, with sizes and times of change.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			fmt.Fprintln(&b, strings.TrimPrefix(path, dir), info.Mode(), info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
