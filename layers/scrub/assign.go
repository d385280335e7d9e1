package scrub

import "strings"

// This file finds values by the name they are assigned to, or that a sentence
// gives them.

const (
	maxName  = 32  // of an identifier, behind a keyword
	maxValue = 512 // that is looked at
)

// operator skips the rest of an identifier's quotes and finds an assignment. op is
// 0 if there is none; tight tells that no space stands around it.
func (f *finder) operator(i int) (next int, op byte, tight bool) {
	text, from := f.text, i
	for i < len(text) && i-from < 4 && strings.IndexByte("\"'`\\]", text[i]) >= 0 {
		i++
	}
	tight = true
	for i < len(text) && i-from < 16 && (text[i] == ' ' || text[i] == '\t') {
		tight = false
		i++
	}
	f.work += i - from + 8
	if i >= len(text) {
		return i, 0, false
	}
	switch op = text[i]; op {
	case ':', '=', ',':
	case '?':
		if i+1 < len(text) && text[i+1] == '=' {
			i++
			break
		}
		return i, 0, false
	default:
		return i, 0, false
	}
	i++
	if op == ',' { // a pair of arguments, as in setenv("PASSWORD", "x")
		if from == i-1 || text[i-2] != '"' && text[i-2] != '\'' {
			return i, 0, false
		}
	}
	if i < len(text) && (text[i] == '=' || text[i] == '>') {
		if op == '=' && text[i] == '=' {
			return i, 0, false
		}
		op = '='
		i++
		if i < len(text) && text[i] == '=' {
			return i, 0, false
		}
	}
	for from := i; i < len(text) && i-from < 8 && (text[i] == ' ' || text[i] == '\t'); i++ {
		tight = false
	}
	return i, op, tight
}

// quote skips an opening quote; quoted is 0 if there is none.
func (f *finder) quote(i int) (next int, quoted byte) {
	text := f.text
	if i < len(text) && (text[i] == 'r' || text[i] == 'b' || text[i] == 'f' || text[i] == 'u') && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\'') {
		i++
	}
	if i+1 < len(text) && text[i] == '\\' && (text[i+1] == '"' || text[i+1] == '\'') {
		i++
	}
	if i < len(text) && strings.IndexByte("\"'`", text[i]) >= 0 {
		return i + 1, text[i]
	}
	return i, 0
}

// value is what stands at a place up to the quote, or up to what ends a value
// without quotes.
func (f *finder) value(i int, quoted byte) span {
	text, end := f.text, i
	limit := min(len(text), i+maxValue)
	for ; end < limit; end++ {
		c := text[end]
		if quoted != 0 && (c == quoted || c == '\n' || c == '\r') || quoted == 0 && (isSpace(c) || strings.IndexByte("\"'`,;(){}<>&|", c) >= 0) {
			break
		}
		if quoted != 0 && c == '\\' && end+1 < limit {
			if text[end+1] == quoted && f.escaped(i) {
				break
			}
			end++
		}
	}
	f.work += end - i
	return span{i, min(end, len(text))}
}

// escaped tells whether the quote before a value is escaped, as in JSON in a
// string.
func (f *finder) escaped(i int) bool { return i >= 2 && f.text[i-2] == '\\' }

// token is the run of characters of tokens at a place.
func (f *finder) token(i, most int) span {
	end := i
	for end < len(f.text) && end-i < most && isToken(f.text[end]) {
		end++
	}
	f.work += end - i
	return span{i, end}
}

// name skips the rest of an identifier.
func (f *finder) name(i int) (rest string, next int) {
	end := i
	for end < len(f.text) && end-i < maxName && (isWord(f.text[end]) || f.text[end] == '-') {
		end++
	}
	f.work += end - i
	return f.text[i:end], end
}

func findPassword(f *finder, at, end int) {
	rest, i := f.name(end)
	if last := f.text[end-1]; last == '=' || last == ':' { // the operator is in the keyword
		rest, i = "", end-1
	}
	if isOtherName(rest) {
		return
	}
	next, op, tight := f.operator(i)
	if op == 0 {
		f.prose(f.rules.password, at, i, isPassword)
		return
	}
	next, quoted := f.quote(next)
	s := f.value(next, quoted)
	value := f.text[s.start:s.end]
	follows := byte(0)
	if s.end < len(f.text) {
		follows = f.text[s.end]
	}
	setting := op == '=' && tight || quoted == 0 && op == ':' && f.startsLine(at)
	switch {
	case !notDummy(value) || follows == '(' || follows == '{' && quoted == 0:
	case quoted != 0 && isPassword(value),
		quoted != 0 && op == '=' && tight && f.upperName(at) && len(value) >= 6 && isSetting(value) && !strings.ContainsAny(value, " \t+"),
		quoted == 0 && setting && isSetting(value) && (isPassword(value) || f.upperName(at)),
		quoted == 0 && !isCode(value) && isPassword(value):
		f.found(f.rules.password, s, span{at, s.end})
	}
	if op == ':' && quoted == 0 {
		f.prose(f.rules.password, at, i, isPassword)
	}
}

// isOtherName tells whether a name that begins with a keyword is of something
// else, such as passwordHint, tokenizer or secretary.
func isOtherName(rest string) bool {
	low := strings.ToLower(rest)
	for _, part := range []string{"hint", "length", "count", "field", "label", "min", "max", "type", "name", "policy", "reset", "forgot", "file", "path", "url", "expir", "valid", "regex", "column", "param", "error", "izer", "ize", "ary", "header", "prefix", "manager", "limit", "usage"} {
		if strings.Contains(low, part) {
			return true
		}
	}
	return false
}

// startsLine tells whether only a name stands before a place in its line.
func (f *finder) startsLine(at int) bool {
	for n := 0; at > 0 && n < 64; n++ {
		switch c := f.text[at-1]; {
		case c == '\n':
			return true
		case isWord(c) || c == '-' || c == '.' || c == ' ' || c == '\t':
			at--
		default:
			return false
		}
	}
	return at == 0
}

// upperName tells whether the name around a place is written as those of
// environment variables are.
func (f *finder) upperName(at int) bool {
	return at < len(f.text) && isUpper(f.text[at])
}

// isPassword tells whether a value can be a password rather than a word: it has
// no spaces, and something beside letters or letters of both cases inside.
func isPassword(s string) bool {
	if len(s) < 4 || strings.ContainsAny(s, " \t<>{}()") || !notDummy(s) {
		return false
	}
	sh := shapeOf(s)
	special := strings.ContainsAny(s, "!@#$%^&*+?~=")
	switch {
	case strings.Contains(s, "://") || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "/") || strings.HasPrefix(s, "0x") || s[0] == '*' && isName(s[1:]):
		return false
	case sh.letters() == 0:
		return sh.digits >= 6 && sh.other == 0 || special && sh.digits > 0 && len(s) >= 6
	case sh.digits > 0:
		return len(s) >= 6 || special
	case special:
		return len(s) >= 6 && strings.IndexByte("!@#$%^&*+?~=", s[0]) < 0
	}
	return len(s) >= 8 && sh.upper > 0 && sh.lower > 0 && mixedCase(s)
}

// mixedCase tells whether capitals stand where no word begins, as in hJkLmQ.
func mixedCase(s string) bool {
	odd := 0
	for i := 1; i < len(s); i++ {
		if isUpper(s[i]) && (isUpper(s[i-1]) && i+1 < len(s) && !isUpper(s[i+1]) || i+1 < len(s) && isUpper(s[i+1]) && !isUpper(s[i-1])) {
			odd++
		}
	}
	return odd >= 2
}

// isSetting tells whether a value without quotes can stand in a file of settings.
func isSetting(s string) bool { return len(s) >= 4 && !isCode(s) && !strings.Contains(s, "://") }

// isCode tells whether a value without quotes is an expression of a program.
func isCode(s string) bool {
	if strings.ContainsAny(s, "[]()*\\") || strings.HasPrefix(s, ".") || strings.HasPrefix(s, "/") {
		return true
	}
	if dot := strings.IndexByte(s, '.'); dot > 0 && isName(s[:dot]) && dot+1 < len(s) && (isLetter(s[dot+1]) || s[dot+1] == '_') {
		sh := shapeOf(s)
		return sh.digits < 3
	}
	return false
}

func isName(s string) bool {
	for i := range len(s) {
		if !isWord(s[i]) {
			return false
		}
	}
	return s != "" && !isDigit(s[0])
}

func findToken(f *finder, at, end int) {
	if last := f.text[end-1]; last == '=' {
		end--
	}
	rest, i := f.name(end)
	if rest == "s" || rest == "S" || rest != "" && 'a' <= rest[0] && rest[0] <= 'z' && at > 0 && !isWord(f.text[at-1]) || isOtherName(rest) {
		return
	}
	next, op, _ := f.operator(i)
	if op == 0 {
		f.prose(f.rules.token, at, i, isProseToken)
		return
	}
	next, quoted := f.quote(next)
	s := f.value(next, quoted)
	value := f.text[s.start:s.end]
	if s.end < len(f.text) && f.text[s.end] == '(' {
		return
	}
	if isOpaque(value) && (quoted != 0 || !isCode(value)) {
		f.found(f.rules.token, s, span{at, s.end})
	}
	if op == ':' && quoted == 0 {
		f.prose(f.rules.token, at, i, isProseToken)
	}
}

// isOpaque tells whether a value has the looks of a token: long, of letters and
// digits that make no words, and no path, URL, version or UUID.
func isOpaque(s string) bool {
	if len(s) < 12 || !notDummy(s) {
		return false
	}
	for i := range len(s) {
		if !isToken(s[i]) && s[i] != ':' && s[i] != '!' && s[i] != '@' && s[i] != '#' && s[i] != '$' && s[i] != '^' && s[i] != '*' {
			return false
		}
	}
	if strings.Contains(s, "://") || strings.HasPrefix(s, "/") || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") || strings.HasPrefix(s, "-") {
		return false
	}
	sh := shapeOf(s)
	if sh.digits < 2 && len(s) < 24 || sh.letters() < 2 || sh.digits == 0 && !mixedCase(s) {
		return false
	}
	if sh.changes < 3 && len(s) < 32 {
		return false
	}
	return entropy(s) >= 2.8
}

// isProseToken is stricter: nothing but the sentence says what the value is.
func isProseToken(s string) bool {
	if len(s) < 16 || strings.ContainsAny(s, ".:%") && shapeOf(s).digits < 4 {
		return false
	}
	sh := shapeOf(s)
	return isOpaque(s) && sh.digits >= 3 && sh.changes >= 4
}

// prose finds a value that a sentence gives, as in "the password for staging is
// x": behind a keyword and up to eight words, on the same line. The value must look
// like one to accept.
func (f *finder) prose(r *rule, at, i int, accept func(string) bool) {
	text := f.text
	limit := min(len(text), i+96)
	is := false
	for words := 0; i < limit && words < 8; {
		c := text[i]
		switch {
		case c == ' ' || c == '\t' || c == ',':
			i++
			continue
		case c == ':':
			is = true
			i++
			continue
		case c == '"' || c == '\'' || c == '`' || c == '*':
			is = true
			i++
			if s := f.value(i, c); s.end < len(text) && text[s.end] == c && accept(text[s.start:s.end]) {
				f.found(r, s, span{at, s.end})
				return
			}
			continue
		case strings.IndexByte("\n\r(){}[]<>;|=", c) >= 0:
			return
		}
		s := f.value(i, 0)
		word := strings.TrimRight(text[s.start:s.end], ".:")
		if word == "" {
			return
		}
		if strings.EqualFold(word, "is") || strings.EqualFold(word, "was") || strings.EqualFold(word, "to") || strings.EqualFold(word, "be") {
			is = true
		} else if is && accept(word) && !isCode(word) || len(word) >= 20 && isProseToken(word) {
			// A final mark may belong to it, but more often to the sentence.
			f.found(r, span{s.start, s.start + len(word)}, span{at, s.end})
			return
		}
		if shapeOf(word).letters() != len(word) && len(word) > 16 {
			return
		}
		i = s.end
		words++
	}
	f.work += 16
}
