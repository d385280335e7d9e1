package digest

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Claim is a part of a statement that the text it speaks of must bear out.
type Claim struct {
	Kind string // one of the kinds below
	Text string // as it stands in the statement
}

// Kinds of claims.
const (
	ClaimPath        = "path"
	ClaimIdentifier  = "identifier"
	ClaimNumber      = "number"      // from 100 on, with a fraction, or with a unit
	ClaimQuote       = "quote"       // three words or more between quotation marks
	ClaimID          = "id"          // of a conversation, a turn or a tool output
	ClaimAttribution = "attribution" // a sentence about what the user said or wants
	ClaimInstruction = "instruction" // a sentence that orders a model about
)

// maxClaims bounds the claims of one statement.
const maxClaims = 200

// ClaimsOf returns what can be checked of a statement, in order of kind. A
// paraphrase holds nothing that can be checked.
func ClaimsOf(text string) []Claim {
	var claims []Claim
	seen := map[Claim]bool{}
	add := func(kind, text string) {
		c := Claim{kind, text}
		if text != "" && !seen[c] && len(claims) < maxClaims {
			seen[c] = true
			claims = append(claims, c)
		}
	}
	names := NamesOf(text)
	for _, path := range names.Paths {
		if checkablePath(path) {
			add(ClaimPath, path)
		}
	}
	for _, name := range names.Identifiers {
		if !isProperName(name) {
			add(ClaimIdentifier, name)
		}
	}
	for _, number := range numbersOf(text) {
		if number.checkable {
			add(ClaimNumber, number.text)
		}
	}
	for _, quote := range quotesOf(text) {
		add(ClaimQuote, quote)
	}
	for _, id := range conversationIDs(text) {
		add(ClaimID, id)
	}
	for _, s := range sentencesToKeep(text) {
		if attributes(s) {
			add(ClaimAttribution, s)
		}
		if ordersModel(s) {
			add(ClaimInstruction, s)
		}
	}
	return claims
}

// checkablePath leaves out what only looks like a path: words joined by a
// slash ("and/or", "client/server"), and commands ("/compact").
func checkablePath(path string) bool {
	if strings.ContainsAny(path, "._~") {
		return strings.ContainsFunc(path, unicode.IsLetter)
	}
	return strings.Count(path, "/") > 1
}

// properNames are names of products that are written like identifiers.
const properNames = " GitHub GitLab BitBucket JavaScript TypeScript CoffeeScript PostgreSQL MySQL NoSQL SQLite MongoDB DynamoDB GraphQL macOS iOS iPadOS " +
	"OpenAI ChatGPT DeepSeek YouTube LinkedIn PowerShell WebSocket WebSockets WebAssembly OpenTelemetry OpenAPI OAuth OAuth2 NumPy PyTorch TensorFlow " +
	"JetBrains IntelliJ WebStorm GoLand PyCharm VSCode NeoVim FreeBSD OpenBSD NetBSD OpenSSL LibreSSL GnuPG HashiCorp CloudFront CloudWatch " +
	"README.md utf8 base64 sha256 sha1 md5sum x86_64 amd64 arm64 CamelCase camelCase PascalCase snake_case kebab_case "

func isProperName(name string) bool { return strings.Contains(properNames, " "+name+" ") }

// number is a number in a text.
type number struct {
	text      string // as written, without what follows
	value     float64
	decimals  int
	checkable bool // not so small that it may be a count of the writer's own
}

// numbersOf returns the numbers in a text that are no parts of names, dates or
// times.
func numbersOf(text string) []number {
	var out []number
	for i := 0; i < len(text); {
		if !isDigit(text[i]) {
			i++
			continue
		}
		end := i
		for end < len(text) && (isDigit(text[end]) || (text[end] == ',' || text[end] == '.') && end+1 < len(text) && isDigit(text[end+1])) {
			end++
		}
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		n := number{text: text[i:end]}
		i = end
		if joins(before) || end < len(text) && strings.IndexByte("-/:_#", text[end]) >= 0 && end+1 < len(text) && isWordRune(rune(text[end+1])) {
			continue
		}
		rest := strings.TrimLeft(text[end:], " \u00a0")
		unit := len(rest) > 0 && (rest[0] == '%' || strings.HasPrefix(rest, "×"))
		if end < len(text) && isLetter(text[end]) {
			word := text[end:]
			for k := range len(word) {
				if !isLetter(word[k]) {
					word = word[:k]
					break
				}
			}
			if !isUnit(word) {
				continue // "3rd", "2x4", "10k"
			}
			unit = true
		} else {
			word, _, _ := strings.Cut(rest, " ")
			unit = unit || isUnit(strings.TrimRight(word, ".,;:)"))
		}
		if n.read() {
			n.checkable = n.decimals > 0 || n.value >= 100 || unit && n.value > 1
			out = append(out, n)
		}
	}
	return out
}

// joins tells that a digit behind it goes on with a name, a version, a date or
// an option.
func joins(r rune) bool {
	return r != utf8.RuneError && (isWordRune(r) || strings.ContainsRune("-/.:#@~", r))
}

func isUnit(word string) bool {
	return word != "" && strings.Contains(" ms s sec seconds min minutes h hours B KB MB GB KiB MiB GiB bytes tokens px Hz x ", " "+word+" ")
}

// read parses the text: a version with two dots is no number.
func (n *number) read() bool {
	digits := strings.ReplaceAll(n.text, ",", "")
	whole, fraction, _ := strings.Cut(digits, ".")
	if strings.Contains(fraction, ".") || len(whole) > 15 {
		return false
	}
	n.decimals = len(fraction)
	value, err := strconv.ParseFloat(digits, 64)
	n.value = value
	return err == nil
}

// quotesOf returns what stands between double quotation marks, if it is three
// words or more.
func quotesOf(text string) []string {
	var out []string
	for _, marks := range [...][2]string{{`"`, `"`}, {"“", "”"}} {
		rest := text
		for {
			_, after, ok := strings.Cut(rest, marks[0])
			if !ok {
				break
			}
			quote, tail, ok := strings.Cut(after, marks[1])
			if !ok {
				break
			}
			rest = tail
			if quote = strings.TrimSpace(quote); len(quote) <= 400 && !strings.Contains(quote, "\n\n") && len(strings.Fields(quote)) >= 3 {
				out = append(out, quote)
			}
		}
	}
	return out
}

// conversationIDs returns the ids that a text gives: "c12", "c12#3", "c12#3/2".
func conversationIDs(text string) []string {
	var out []string
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !isWordRune(r) && r != '#' && r != '/' }) {
		conversation, turn, hasTurn := strings.Cut(word, "#")
		digits, ok := strings.CutPrefix(conversation, "c")
		if !ok || !allDigits(digits) {
			continue
		}
		turn, output, hasOutput := strings.Cut(turn, "/")
		if hasTurn && !allDigits(turn) || hasOutput && !allDigits(output) {
			continue
		}
		out = append(out, word)
	}
	return out
}

func allDigits(s string) bool {
	return s != "" && len(s) < 10 && strings.Trim(s, "0123456789") == ""
}

// attributes tells that a sentence says what the user said, wants or did.
func attributes(sentence string) bool {
	words := strings.Fields(strings.ToLower(sentence))
	for i := range words {
		// "the user said", "User approved"; not "(user says y)" of a test's name.
		if strings.Trim(words[i], ".,;:()'\"*") != "user" || i > 0 && words[i-1] != "the" && words[i-1] != "our" {
			continue
		}
		for _, next := range words[i+1 : min(i+3, len(words))] {
			if strings.Contains(" said says asked asks wants wanted requested requests prefers preferred insists insisted confirmed confirms approved approves told instructed agreed agrees rejected rejects refused decided demands demanded reported reports mentioned complained accepted ", " "+strings.Trim(next, ".,;:'\"")+" ") {
				return true
			}
		}
	}
	return false
}
