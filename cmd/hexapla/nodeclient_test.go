package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// nodeIn returns the node program for a folder under editors whose packages
// are installed, and skips the test where that is not so.
func nodeIn(t *testing.T, folder string) (node, dir string) {
	t.Helper()
	dir = filepath.Join(root(t), "editors", folder)
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		t.Skipf("packages are not installed; run: npm ci --prefix editors/%s", folder)
	}
	return node, dir
}

// TestNodeClient: an independent client, made of the reference implementation
// of LSP, finds a server that does what protocol.md says.
func TestNodeClient(t *testing.T) {
	t.Parallel()
	node, dir := nodeIn(t, "client")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "--test")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HEXAPLA="+self, asProgram+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("node --test: %v\n%s", err, out)
	}
}

// TestTypeScriptTypes: the generated types compile, and the examples satisfy
// them.
func TestTypeScriptTypes(t *testing.T) {
	t.Parallel()
	node, dir := nodeIn(t, "vscode")
	cmd := exec.Command(node, "node_modules/typescript/bin/tsc", "--noEmit")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("tsc: %v\n%s", err, out)
	}
}
