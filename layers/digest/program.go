package digest

import (
	"strings"
)

// kindOfCommand classifies one segment by its program.
func kindOfCommand(segment string) callKind {
	words := commandWords(segment)
	prog := words[0][strings.LastIndexByte(words[0], '/')+1:]
	rest := words[1:]
	sub := ""
	for _, w := range rest {
		if !strings.HasPrefix(w, "-") {
			sub = w
			break
		}
	}
	switch prog {
	case "cat", "head", "tail", "less", "more", "nl", "bat", "sed", "awk", "jq", "wc":
		if prog == "sed" && contains(rest, "-i") {
			return kindShell
		}
		return kindRead
	case "grep", "rg", "ag", "egrep", "fgrep", "ack":
		return kindSearch
	case "find", "fd", "ls", "tree":
		return kindList
	case "curl", "wget", "http":
		return kindWeb
	case "git":
		return kindGit
	case "gh":
		return kindGit
	case "pytest", "jest", "vitest", "mocha", "rspec", "phpunit", "ctest", "tox", "nose2", "gotestsum", "playwright", "ava", "bats":
		return kindTest
	case "golangci-lint", "eslint", "tsc", "gofmt", "goimports", "ruff", "flake8", "mypy", "black", "prettier", "shellcheck", "staticcheck", "rubocop", "pylint", "clippy-driver", "gcc", "g++", "clang", "javac", "cmake", "ninja", "vite", "webpack", "pyright", "biome":
		return kindCheck
	case "python", "python3":
		if contains(rest, "pytest") || contains(rest, "unittest") {
			return kindTest
		}
		return kindShell
	case "go":
		switch sub {
		case "test":
			return kindTest
		case "build", "vet", "fmt":
			return kindCheck
		}
		return kindShell
	case "cargo", "npm", "pnpm", "yarn", "bun", "npx", "make", "just", "mise", "task", "rake", "gradle", "gradlew", "mvn", "dotnet", "mix", "bazel", "uv", "poetry", "deno", "swift", "nx", "turbo", "bundle", "docker", "xcodebuild":
		for _, w := range rest {
			w = strings.ToLower(w)
			if w == "t" && prog == "npm" {
				return kindTest
			}
			for _, part := range strings.FieldsFunc(w, func(r rune) bool { return r == ':' || r == '-' || r == '/' || r == '=' }) {
				switch part {
				case "test", "tests", "pytest", "jest", "vitest", "unittest", "rspec", "e2e":
					return kindTest
				case "lint", "vet", "check", "build", "compile", "clippy", "typecheck", "types", "tsc", "fmt", "format", "eslint", "mypy", "ruff", "verify", "ci":
					return kindCheck
				}
			}
		}
	}
	return kindShell
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// searchArguments finds the pattern and the place of grep and rg.
func searchArguments(segment string) (pattern, where string) {
	head, _, _ := cutPipe(segment)
	rest := strings.TrimSpace(head)
	var words []string
	for rest != "" && len(words) < 32 {
		if q := rest[0]; q == '"' || q == '\'' {
			if end := strings.IndexByte(rest[1:], q); end >= 0 {
				words = append(words, rest[1:1+end])
				rest = strings.TrimLeft(rest[end+2:], " ")
				continue
			}
		}
		word, after, _ := strings.Cut(rest, " ")
		words = append(words, word)
		rest = strings.TrimLeft(after, " ")
	}
	skip := false
	for i, w := range words {
		switch {
		case i == 0 || skip:
			skip = false
		case w == "-A" || w == "-B" || w == "-C" || w == "-m" || w == "-g" || w == "-t" || w == "--type" || w == "--include":
			skip = true
		case strings.HasPrefix(w, "-") || strings.HasPrefix(w, "2>"):
		case pattern == "":
			pattern = w
		case where == "":
			where = w
		}
	}
	return pattern, where
}
