package broken

import (
	"bufio"
	"errors"
	"go/build"
	"go/build/constraint"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// run is an environment variable: with it TestSuitesTurnRed runs, which compiles
// the program anew for each promise.
const run = "HEXAPLA_BROKEN"

// promises are what the build tags break, and who must notice. A variant whose
// failure hangs on chance has counts with which it practically always shows.
var promises = []struct {
	tag, says  string
	pkg, suite string
	env        []string
}{
	{"break_nofsync", "what was acknowledged survives the loss of power", "./storage", "^TestS3_PowerLoss$", []string{"STORAGE_IMAGES=100"}},
	{"break_ackearly", "what was acknowledged survives a kill", "./storage", "^TestS1_Kill$", []string{"STORAGE_KILL_ROUNDS=100"}},
	{"break_nowatermark", "the index holds what its watermark says", "./index", "^TestX4_Killed$", []string{"INDEX_KILL_ROUNDS=60"}},
	{"break_nofilter", "no workspace sees another's texts", "./cmd/hexapla", "^(TestBrokenFilter_.*|TestY5_Canaries)$", []string{"CANARY_OPERATIONS=2000"}},
	{"break_nokeys", "a write that is sent again takes effect once", "./cmd/hexapla", "^TestC2_DaemonKilled$", []string{"HEXAPLA_C2_KILLS=20"}},
	{"break_noscrub", "no secret gets past the door", "./cmd/hexapla", "^TestY6_NothingGetsPastTheDoor$", nil},
}

// root is the repository's root.
const root = "../.."

// TestSuitesTurnRed breaks each promise and runs the suite that tests it, which
// must fail, by a test that ran and not because it did not compile.
func TestSuitesTurnRed(t *testing.T) {
	if os.Getenv(run) == "" {
		t.Skipf("takes minutes; %s=1 or make broken runs it", run)
	}
	for _, p := range promises {
		t.Run(p.tag, func(t *testing.T) {
			const attempts = 2 // where chance helps the broken program
			for range attempts {
				cmd := exec.Command("go", "test", "-tags", p.tag, "-count=1", "-timeout=3m", "-run", p.suite, p.pkg)
				cmd.Dir = root
				cmd.Env = append(os.Environ(), p.env...)
				out, err := cmd.CombinedOutput()
				var exit *exec.ExitError
				if err != nil && !errors.As(err, &exit) {
					t.Fatal(err)
				}
				if strings.Contains(string(out), "[build failed]") || strings.Contains(string(out), "no tests to run") {
					t.Fatalf("%s", out)
				}
				if strings.Contains(string(out), "--- FAIL: ") {
					t.Logf("red: %s", firstLines(string(out), 4))
					return
				}
				if err != nil {
					t.Fatalf("it ended without a test that failed: %s", out)
				}
			}
			t.Errorf("%q is broken, and %s stays green", p.says, p.suite)
		})
	}
}

func firstLines(text string, n int) string {
	lines := strings.SplitN(text, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n")
}

// TestDefaultBuildIsSound: without tags no broken variant is compiled, every
// variant is in the table, and each has its sound half.
func TestDefaultBuildIsSound(t *testing.T) {
	tag := regexp.MustCompile(`^break_[a-z]+$`)
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == "node_modules" || name == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		dir, name := filepath.Split(path)
		expr := constraintOf(t, path)
		var named []string
		if expr != nil {
			expr.Eval(func(word string) bool {
				if tag.MatchString(word) {
					named = append(named, word)
				}
				return false
			})
		}
		matches, err := build.Default.MatchFile(dir, name)
		if err != nil {
			return err
		}
		switch {
		case strings.HasSuffix(name, "_break.go"):
			found = append(found, named...)
			if matches {
				t.Errorf("%s is part of a build without tags", path)
			}
			if len(named) != 1 || expr.String() != named[0] {
				t.Errorf("%s: its constraint is %v", path, expr)
			}
			sound := strings.TrimSuffix(path, "_break.go") + "_sound.go"
			if other := constraintOf(t, sound); other == nil || other.String() != "!"+named[0] {
				t.Errorf("%s: its constraint is %v", sound, other)
			}
		case strings.HasSuffix(name, "_sound.go"):
			if !matches {
				t.Errorf("%s is no part of a build without tags", path)
			}
		case len(named) > 0:
			t.Errorf("%s: %v belong into files …_break.go and …_sound.go", path, named)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, p := range promises {
		known = append(known, p.tag)
	}
	slices.Sort(found)
	slices.Sort(known)
	if !slices.Equal(found, known) {
		t.Errorf("files break %v, the table has %v", found, known)
	}
}

// constraintOf returns a file's build constraint, nil if it has none.
func constraintOf(t *testing.T, path string) constraint.Expr {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		if constraint.IsGoBuild(line) {
			expr, err := constraint.Parse(line)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			return expr
		}
		if strings.HasPrefix(line, "package ") {
			break
		}
	}
	return nil
}
