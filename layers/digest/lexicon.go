package digest

import "strings"

// The word lists are switch statements: no state, and a look-up costs a hash
// or a few comparisons.

// knownExtension tells whether ext, in lower case and without the dot, is that
// of a file in a code base.
func knownExtension(ext string) bool {
	switch ext {
	case "go", "mod", "sum", "work", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "vue", "svelte", "astro",
		"py", "pyi", "ipynb", "toml", "cfg", "ini", "rs", "java", "kt", "kts", "scala", "groovy", "gradle", "clj",
		"c", "h", "cc", "cpp", "cxx", "hpp", "hh", "m", "mm", "swift", "cs", "csproj", "sln", "fs", "vb",
		"rb", "erb", "rake", "gemspec", "php", "pl", "pm", "lua", "r", "jl", "ex", "exs", "erl", "hs", "ml", "elm", "dart", "zig", "nim", "pony", "sol",
		"sh", "bash", "zsh", "fish", "ps1", "bat", "cmd", "mk", "cmake", "bzl", "nix", "tf", "hcl", "rego",
		"html", "htm", "css", "scss", "sass", "less", "svg", "xml", "xsl", "md", "mdx", "rst", "adoc", "txt", "tex", "csv", "tsv",
		"json", "jsonl", "json5", "jsonc", "ndjson", "yaml", "yml", "env", "lock", "sql", "db", "sqlite", "proto", "graphql", "gql", "prisma", "avsc", "thrift",
		"png", "jpg", "jpeg", "gif", "webp", "ico", "pdf", "zip", "gz", "tgz", "tar", "zst", "whl", "jar", "war", "wasm", "so", "dll", "exe", "dylib",
		"log", "diff", "patch", "conf", "properties", "plist", "tmpl", "tpl", "j2", "golden", "snap", "txtar", "traj", "pem", "crt", "key", "map", "rc", "service", "desktop":
		return true
	}
	return false
}

// weakExtension is also a common field or method name: without a slash it
// counts only behind a longer stem.
func weakExtension(ext string) bool {
	switch ext {
	case "log", "lock", "env", "db", "c", "h", "m", "r", "map", "key", "conf", "diff", "patch", "so", "work", "mod", "sum", "service", "rc", "cmd", "properties", "less", "go", "text", "sql", "json", "xml", "html", "js", "md":
		return true
	}
	return false
}

// knownBaseName tells whether a file without an extension, or a dot file, is
// known by its whole name.
func knownBaseName(name string) bool {
	switch name {
	case "Makefile", "Dockerfile", "Rakefile", "Gemfile", "Procfile", "Justfile", "justfile", "Jenkinsfile", "Vagrantfile", "Brewfile", "Taskfile",
		"LICENSE", "NOTICE", "CODEOWNERS", "BUILD.bazel", "WORKSPACE", "CMakeLists.txt",
		".gitignore", ".gitattributes", ".gitmodules", ".dockerignore", ".npmrc", ".nvmrc", ".editorconfig", ".env", ".eslintrc", ".prettierrc", ".bashrc", ".zshrc", ".profile", ".babelrc", ".mise.toml", ".tool-versions":
		return true
	}
	return strings.HasPrefix(name, ".env.") && len(name) > 5
}

// notAFile are product names that look like file names.
func notAFile(lower string) bool {
	switch lower {
	case "node.js", "next.js", "vue.js", "express.js", "three.js", "d3.js", "nuxt.js", "react.js", "ember.js", "backbone.js", "socket.io", "asp.net", "discord.js", "alpine.js", "moment.js", "chart.js", "deno.land", "process.env", "angular.js":
		return true
	}
	return false
}

// keyword tells whether an identifier is a keyword or builtin of a common
// language: calling it says nothing.
func keyword(s string) bool {
	switch s {
	case "if", "for", "while", "switch", "case", "return", "func", "function", "def", "class", "else", "elif", "elsif", "try", "catch", "except", "finally", "with", "new", "async", "await", "yield", "let", "var", "const", "import", "from", "package", "export", "default", "type", "interface", "struct", "enum", "public", "private", "protected", "static", "void", "string", "bool", "float", "byte", "rune", "error", "len", "cap", "make", "append", "copy", "delete", "panic", "recover", "print", "println", "printf", "str", "int", "range", "list", "dict", "set", "tuple", "select", "defer", "chan", "map", "nil", "null", "true", "false", "self", "this", "super", "not", "and", "lambda", "assert", "raise", "pass", "break", "continue", "goto", "sizeof", "typeof", "instanceof", "throw", "throws", "any", "all", "min", "max", "abs", "sum", "open", "close", "input", "isinstance", "enumerate", "zip", "sorted", "repr", "super().__init__", "require", "describe", "expect", "test", "beforeEach", "afterEach", "object", "array", "number", "then", "done", "unless", "puts", "echo", "exit", "eval", "exec", "cast", "impl", "match", "when", "where", "move", "into", "some", "none", "clone", "unwrap", "main", "iota", "uint", "int64", "int32", "float64", "uint64", "uint32", "filter", "reduce", "push", "join", "split", "parseInt", "parseFloat", "setTimeout", "hasattr", "getattr", "setattr", "foreach", "forEach", "toString", "hasOwnProperty", "goroutine", "values", "keys", "items", "format", "replace", "index", "unique", "count", "each", "also", "note", "with_capacity", "slice":
		return true
	}
	return false
}

// standardReceiver is a package or object of a standard library; its members
// are not the project's.
func standardReceiver(s string) bool {
	switch s {
	case "fmt", "os", "strings", "strconv", "errors", "log", "slog", "math", "sort", "slices", "maps", "time", "filepath", "path", "bytes", "bufio", "io", "json", "http", "context", "sync", "atomic", "regexp", "reflect", "exec", "t", "b", "tb", "console", "Math", "JSON", "Object", "Array", "Promise", "Number", "Date", "String", "document", "window", "process", "sys", "re", "datetime", "logging", "np", "pd", "plt", "itertools", "functools", "subprocess", "System", "require", "assert", "expect", "vi", "jest", "Some", "Ok", "Err", "Vec", "Option", "utf8", "unicode", "hex", "base64", "rand", "sha256":
		return true
	}
	return false
}

// brand is a product whose name looks like an identifier, or a tool worth
// remembering by name.
func brand(s string) bool {
	switch s {
	case "GitHub", "GitLab", "BitBucket", "Bitbucket", "JavaScript", "TypeScript", "PostgreSQL", "Postgres", "SQLite", "MySQL", "MongoDB", "Redis", "Docker", "Kubernetes", "GraphQL", "React", "Svelte", "Django", "Flask", "FastAPI", "Terraform", "Vite", "Vitest", "Jest", "ESLint", "Prettier", "OpenAPI", "OAuth", "OAuth2", "gRPC", "Kafka", "RabbitMQ", "Elasticsearch", "Supabase", "Firebase", "Prisma", "Tailwind", "Webpack", "Playwright", "Storybook", "Goreleaser", "GoReleaser", "Homebrew", "Linear", "OpenTelemetry", "Prometheus", "Grafana", "Celery", "SQLAlchemy", "NumPy", "PyTorch", "TensorFlow", "WebSocket", "Bleve", "Neovim", "SpecStory", "OpenCode", "LaTeX", "CircleCI", "Cloudflare", "Vercel", "Netlify":
		return true
	}
	return false
}

// brandOnly are names in Pascal or camel case that are products or plain words,
// hence never identifiers.
func brandOnly(s string) bool {
	switch s {
	case "macOS", "iOS", "iPhone", "iPad", "eBay", "OpenAI", "ChatGPT", "YouTube", "LinkedIn", "VSCode", "VsCode", "PowerShell", "DevOps", "WiFi", "JetBrains", "IntelliJ", "WebStorm", "StackOverflow", "McDonald", "MacBook", "AppStore", "PayPal", "BitTorrent", "JUnit", "NodeJS", "LangChain", "DeepSeek":
		return true
	}
	return brand(s)
}

// program is a command-line tool whose subcommands are worth a name.
func program(s string) bool {
	switch s {
	case "go", "git", "npm", "pnpm", "yarn", "npx", "bun", "deno", "cargo", "docker", "kubectl", "helm", "make", "mise", "just", "task", "pip", "pip3", "uv", "poetry", "python", "python3", "gh", "mvn", "gradle", "dotnet", "terraform", "brew", "bazel", "rake", "bundle", "mix", "flutter", "swift", "nx", "turbo":
		return true
	}
	return false
}

// subcommand tells whether word names an action of the tool.
func subcommand(tool, word string) bool {
	switch tool {
	case "go":
		return oneOf(word, "test", "build", "vet", "run", "generate", "mod", "install", "get", "fmt", "tool", "list", "work")
	case "git":
		return oneOf(word, "add", "am", "apply", "bisect", "blame", "branch", "checkout", "cherry-pick", "clean", "clone", "commit", "config", "diff", "fetch", "filter-branch", "gc", "grep", "init", "log", "ls-files", "ls-tree", "merge", "merge-base", "mv", "notes", "pull", "push", "rebase", "reflog", "remote", "reset", "restore", "rev-list", "rev-parse", "revert", "rm", "show", "stash", "status", "submodule", "switch", "tag", "worktree")
	case "npm", "pnpm", "yarn", "bun", "deno":
		return oneOf(word, "test", "run", "install", "ci", "build", "lint", "add", "remove", "start", "dev", "publish", "audit", "exec", "typecheck", "check-types")
	case "cargo":
		return oneOf(word, "test", "build", "check", "clippy", "run", "fmt", "add", "bench", "doc", "publish")
	case "docker":
		return oneOf(word, "build", "run", "compose", "exec", "push", "pull", "ps", "logs", "images", "stop")
	case "kubectl":
		return oneOf(word, "apply", "get", "describe", "logs", "delete", "exec", "rollout")
	case "make", "just", "task", "rake":
		return oneOf(word, "test", "build", "lint", "all", "install", "clean", "check", "fmt", "generate", "release", "dev", "deploy")
	case "mise":
		return oneOf(word, "run", "install", "use", "exec", "trust", "tasks")
	case "pip", "pip3", "uv", "poetry", "bundle", "brew":
		return oneOf(word, "install", "add", "run", "sync", "lock", "update", "exec", "uninstall", "upgrade", "tap")
	case "python", "python3":
		return word == "-m"
	case "gh":
		return oneOf(word, "pr", "issue", "run", "api", "repo", "release", "workflow", "auth")
	case "mvn", "gradle", "dotnet", "bazel", "mix", "flutter", "swift", "nx", "turbo":
		return oneOf(word, "test", "build", "run", "compile", "verify", "package", "install", "publish", "restore", "clean", "lint")
	case "terraform", "helm":
		return oneOf(word, "plan", "apply", "init", "destroy", "validate", "import", "install", "upgrade", "template")
	}
	return false
}

func oneOf(s string, list ...string) bool {
	for _, x := range list {
		if s == x {
			return true
		}
	}
	return false
}

// stopWord is an English word that carries no topic.
func stopWord(s string) bool {
	switch s {
	case "a", "an", "the", "and", "or", "but", "if", "of", "to", "in", "on", "at", "by", "for", "from", "with", "without", "into", "as", "is", "are", "was", "were", "be", "been", "being", "it", "its", "this", "that", "these", "those", "there", "then", "than", "so", "we", "you", "i", "he", "she", "they", "me", "us", "our", "your", "my", "their", "not", "no", "yes", "do", "does", "did", "done", "have", "has", "had", "can", "could", "will", "would", "should", "may", "might", "also", "just", "now", "ok", "okay", "please", "all", "any", "some", "which", "what", "when", "where", "how", "why", "who", "still", "again", "more", "very", "too", "only", "about", "out", "up", "down", "over", "one", "like", "get", "let", "here", "after", "before", "because", "via", "per", "both", "each", "other", "same", "such", "own", "see", "use", "using", "used", "it's", "that's", "i'm", "i'd", "we're", "don't", "yep", "yeah", "sure", "thanks", "thank", "great", "good", "nice", "cool", "perfect", "hmm", "ah", "oh", "go", "ahead", "continue", "try", "right", "correct", "option", "sounds", "works", "work", "well", "think", "want", "need":
		return true
	}
	return false
}
