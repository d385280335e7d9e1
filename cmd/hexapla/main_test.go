package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// asProgram makes the test binary run as the program itself. Tests start
// os.Executable() with it to have a real server without building one.
const asProgram = "HEXAPLA_TEST_AS_PROGRAM"

// heapFile is an environment variable: where a program of the tests writes, at
// SIGUSR1, what its collector leaves of its memory.
const heapFile = "HEXAPLA_TEST_HEAP"

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	if path := os.Getenv(knock); path != "" {
		os.Exit(knockAt(path))
	}
	// Who fuzzes starts this binary, too, with the environment that is set below.
	if os.Getenv(asProgram) == "1" && !slices.Contains(os.Args, "-test.fuzzworker") {
		if path := os.Getenv(heapFile); path != "" {
			tellHeap(path)
		}
		os.Exit(main1(os.Args[1:], claimedRelease()))
	}
	// Whatever the commands under test start is the program. Tests that are not
	// about the daemon do without one, unless the environment asks for it.
	settings := map[string]string{asProgram: "1"}
	if os.Getenv("HEXAPLA_DAEMON") == "" {
		settings["HEXAPLA_DAEMON"] = "off"
	}
	for name, value := range settings {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// rounds is how often a test does something: a small number, or what the
// environment says for a long run.
func rounds(t *testing.T, name string, small int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return small
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q: must be a number", name, text)
	}
	return n
}

// outcome is what a command line did.
type outcome struct {
	code      int
	out, errs string
}

// sharedBuffer is a standard error that a child writes to as well.
type sharedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *sharedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *sharedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// hexapla runs a command line with an environment of its own.
func hexapla(t *testing.T, env map[string]string, args ...string) outcome {
	t.Helper()
	var out bytes.Buffer
	var errs sharedBuffer
	p := program{
		in: strings.NewReader(""), out: &out, errs: &errs,
		getenv: func(name string) string { return env[name] },
		home:   func() (string, error) { return "", errors.New("no home") },
		getwd:  func() (string, error) { return env["PWD"], nil },
		self:   os.Executable, columns: func(io.Writer) int { return 0 },
	}
	code := run(t.Context(), args, p)
	return outcome{code, out.String(), errs.String()}
}

// golden compares text with a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("%s differs; go test ./cmd/hexapla -update writes it anew. Now:\n%s", name, got)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"hexapla": {"--help"}, "serve": {"serve", "--help"}, "replay": {"replay", "--help"}, "eval": {"eval", "--help"},
		"pack": {"pack", "--help"}, "explain": {"explain", "--help"}, "search": {"search", "--help"}, "clusters": {"clusters", "--help"}, "stats": {"stats", "--help"}, "tiers": {"tiers", "--help"}, "changes": {"changes", "--help"}, "problems": {"problems", "--help"}, "limits": {"limits", "--help"}, "forget": {"forget", "--help"}, "adopt": {"adopt", "--help"}, "doctor": {"doctor", "--help"}, "verify": {"verify", "--help"}, "repair": {"repair", "--help"}, "backup": {"backup", "--help"}, "restore": {"restore", "--help"}, "export": {"export", "--help"}, "import": {"import", "--help"}, "share": {"share", "--help"}, "compact": {"compact", "--help"}, "version": {"version", "--help"},
		"daemon": {"daemon", "--help"}, "daemon-status": {"daemon", "status", "--help"}, "daemon-stop": {"daemon", "stop", "--help"},
	} {
		o := hexapla(t, nil, args...)
		if o.code != 0 || o.errs != "" {
			t.Errorf("%s: exit %d, %q", name, o.code, o.errs)
		}
		for line := range strings.Lines(o.out) {
			if len(line) > 121 {
				t.Errorf("%s: a line of %d bytes does not fit a terminal: %q", name, len(line), line)
			}
		}
		golden(t, "help/"+name+".txt", o.out)
	}
	if bare := hexapla(t, nil); bare.code != 0 || bare.out != hexapla(t, nil, "--help").out {
		t.Errorf("hexapla alone: exit %d, %s", bare.code, bare.out)
	}
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"repaly"}, `unknown command "repaly"`},
		{[]string{"--nope"}, "unknown flag: --nope"},
		{[]string{"replay"}, "requires at least 1 arg"},
		{[]string{"replay", "--budget", "many", "x"}, "invalid argument"},
		{[]string{"replay", "--budget", "0", "x"}, "--budget 0: must be positive"},
		{[]string{"replay", "--layout", "sideways", "x"}, `--layout "sideways"`},
		{[]string{"replay", "--overhead", "-5", "x"}, "--overhead -5"},
		{[]string{"eval", "--data", "x", "--sample", "-1"}, "--sample -1: must not be negative"},
		{[]string{"eval", "--data", "x", "--set", "memory"}, `--set "memory": must be compaction`},
		{[]string{"eval", "--set", "compaction"}, "--data: name the folder"},
		{[]string{"eval", "--data", "x", "--set", "compaction", "--budgets", "3000,0"}, "--budgets 0: must be positive"},
		{[]string{"eval", "--data", "x", "--set", "compaction", "--budgets", "few"}, "invalid argument"},
		{[]string{"eval", "--data", "x", "--set", "compaction", "--budgets", ""}, "invalid argument"},
		{[]string{"serve", "now"}, "unknown command"},
		{[]string{"serve", "--daemon", "perhaps"}, `--daemon "perhaps"`},
		{[]string{"daemon", "now"}, "unknown command"},
		{[]string{"pack", "--budget", "-1"}, "--budget -1"},
		{[]string{"pack", "--layout", "x"}, `--layout "x"`},
		{[]string{"pack", "--as-of", "yesterday"}, "must be a sequence number, or a time such as"},
		{[]string{"explain", "--as-of", "0"}, "sequence numbers begin at 1"},
		{[]string{"explain", "--budget", "0"}, "--budget 0"},
		{[]string{"explain", "--layout", "x"}, `--layout "x"`},
		{[]string{"search"}, "requires at least 1 arg"},
		{[]string{"search", "--kind", "thing", "x"}, `--kind "thing"`},
		{[]string{"search", "--limit", "1000", "x"}, "--limit 1000"},
		{[]string{"version", "x"}, "unknown command"},
	} {
		o := hexapla(t, nil, c.args...)
		if o.code != exitUsage || o.out != "" || !strings.Contains(o.errs, c.want) {
			t.Errorf("%q: exit %d, output %q, errors %q; want exit 2 and %q", c.args, o.code, o.out, o.errs, c.want)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	o := hexapla(t, nil, "version")
	if o.code != 0 || !strings.HasPrefix(o.out, "hexapla "+version+" (protocol 0, go1.") {
		t.Errorf("exit %d, %q", o.code, o.out)
	}
}

func TestUserDataDir(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	xdg := filepath.Join(home, "data")
	for _, c := range []struct {
		goos string
		env  map[string]string
		want string
	}{
		{"linux", nil, filepath.Join(home, ".local", "share", "hexapla")},
		{"freebsd", map[string]string{"XDG_DATA_HOME": xdg}, filepath.Join(xdg, "hexapla")},
		{"linux", map[string]string{"XDG_DATA_HOME": "relative"}, filepath.Join(home, ".local", "share", "hexapla")},
		{"darwin", map[string]string{"XDG_DATA_HOME": xdg}, filepath.Join(home, "Library", "Application Support", "hexapla")},
		{"windows", map[string]string{"LocalAppData": xdg}, filepath.Join(xdg, "hexapla")},
		{"windows", nil, filepath.Join(home, "AppData", "Local", "hexapla")},
	} {
		p := program{getenv: func(name string) string { return c.env[name] }, home: func() (string, error) { return home, nil }}
		got, err := userDataDir(c.goos, p)
		if err != nil || got != c.want {
			t.Errorf("%s %v: %q, %v; want %q", c.goos, c.env, got, err, c.want)
		}
	}
	lost := program{getenv: func(string) string { return "" }, home: func() (string, error) { return "", errors.New("no home") }}
	if _, err := userDataDir("linux", lost); err == nil || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("without a home folder: %v", err)
	}
}

func TestFileURI(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/home/dev/my project": "file:///home/dev/my%20project",
		"C:/src/app":           "file:///C:/src/app",
		"//server/share/app":   "file://server/share/app",
		"/a#b?c":               "file:///a%23b%3Fc",
	} {
		if got := fileURI(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
