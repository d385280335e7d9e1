package scrub

import (
	"encoding/base64"
	"strings"
)

// ownRules are what gitleaks misses. Rules that know a secret by its form have
// their own label; the others go by what stands beside it.
func ownRules() []*rule {
	rules := []*rule{
		{id: "private-key", label: "private-key", keywords: []string{"-----begin"}, mode: coded, find: findPEM},
		{id: "url-password", label: labelCredential, keywords: []string{"://"}, mode: coded, find: findURL},
		{id: "password", label: labelCredential, mode: coded, find: findPassword, keywords: []string{
			"passw", "passphrase", "pwd", "passwort", "db_pass", "dbpass", "_pass=", "_pass:", "_pass\"", "_pass'", "user_pass", "login_pass",
		}},
		{id: "token", label: labelCredential, mode: coded, find: findToken, keywords: []string{
			"token", "secret", "apikey", "api_key", "api-key", "api key", "access_key", "accesskey", "access key", "private_key", "privatekey",
			"auth_key", "authkey", "encryption_key", "signing_key", "master_key", "service_key", "deploy_key", "credential", "license_key",
			"account_key", "accountkey", "_key=", "_auth=", "_sid=", "app_key", "application key", "hmac_key", "webhook_key",
		}},
		{id: "authorization", label: labelCredential, keywords: []string{"authorization"}, mode: coded, find: findAuthorization},
		{id: "bearer", label: labelCredential, keywords: []string{"bearer"}, mode: coded, find: findBearer},
		{id: "basic", label: labelCredential, keywords: []string{"basic"}, mode: coded, find: findBasic},
		{id: "cookie", label: labelCredential, mode: coded, find: findCookie, keywords: []string{"cookie"}},
		{id: "session-cookie", label: labelCredential, mode: anchored, reach: 600, keywords: []string{"sessionid=", "session_id=", "jsessionid=", "phpsessid=", "connect.sid=", "session=", "sid=", "sessid="},
			source: `^(?i)(?:sessionid|session_id|jsessionid|phpsessid|connect\.sid|session|sid|sessid)=["']?([\w.%+/:=-]{16,})`, accept: isOpaque},
		{id: "netrc", label: labelCredential, mode: anchored, reach: 512, keywords: []string{"login ", "machine "},
			source: `^(?i)(?:machine\s+\S+\s+)?login\s+\S+\s+password\s+(\S{3,256})`, accept: notDummy},
		{id: "flag-password", label: labelCredential, mode: anchored, reach: 512, keywords: []string{"-password", "-passwd", "-pass", "-token", "-secret", "-key"},
			source: `^(?i)-(?:passw(?:or)?d|pass|token|secret|key)[= ]["']?([^\s"'-][^\s"']{3,256})`, accept: isFlagValue},
		{id: "sshpass", label: labelCredential, mode: anchored, reach: 300, keywords: []string{"sshpass"},
			source: `^(?i)sshpass\s+-p\s*["']?([^\s"']{3,256})`, accept: notDummy},
		{id: "mysql-password", label: labelCredential, mode: anchored, reach: 300, keywords: []string{"mysql", "mariadb"},
			source: `^(?i)(?:mysql|mariadb)(?:dump|admin|-dump|-admin)?\b[^\n|;&]{0,120}?\s-p["']?([^\s"'-][^\s"']{3,128})`, accept: notDummy},
		{id: "user-flag", label: labelCredential, mode: anchored, reach: 300, keywords: []string{"-u ", "--user ", "--user=", "-u'", "-u\""},
			source: `^(?i)(?:-u|--user)[= ]?["']?[\w.@+-]{1,64}:([^\s"':/]{4,128})`, accept: notDummy},
		{id: "login-flag", label: labelCredential, mode: anchored, reach: 300, keywords: []string{"docker login", "az login", "redis-cli", "helm registry login"},
			source: `^(?i)(?:docker login|az login|redis-cli|helm registry login)\b[^\n|;&]{0,120}?\s(?:-p|-a)[= ]["']?([^\s"'-][^\s"']{3,128})`, accept: notDummy},
		{id: "aws-secret-key", label: labelCredential, mode: anchored, reach: 160, keywords: []string{"secret_access_key", "secretaccesskey", "secret access key", "aws_secret", "aws secret", "aws_session", "secret-access-key"},
			source: `^(?i)(?:secret[_ -]?access[_ -]?key|aws[_ ]secret|aws_session)[^\n]{0,60}?([A-Za-z0-9/+=]{40,128})(?:[^A-Za-z0-9/+=]|$)`, accept: isOpaque},
		{id: "aws-key-pair", label: labelCredential, mode: anchored, reach: 200, keywords: []string{"akia", "asia"},
			source: `^(?:AKIA|ASIA)[A-Z0-9]{16}["'\x60]?[\s,:;/|]{1,8}(?:[A-Za-z_ =:-]{0,40}[\s:=]["'\x60]?)?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)`, accept: isOpaque},
		{id: "azure-storage-key", label: labelCredential, mode: anchored, reach: 200, keywords: []string{"accountkey=", "sharedaccesskey="},
			source: `^(?i)(?:accountkey|sharedaccesskey)=([A-Za-z0-9+/]{40,90}={0,2})`},
		{id: "azure-sas", label: labelCredential, mode: anchored, reach: 300, keywords: []string{"sig="},
			source: `^(?i)sig=([A-Za-z0-9%+/]{30,200}={0,2})`, accept: isOpaque},
		{id: "query-token", label: labelCredential, mode: anchored, reach: 600, keywords: []string{"token=", "apikey=", "api_key=", "signature=", "secret=", "?key=", "&key=", "?code=", "auth=", "access_key="},
			source: `^(?i)[?&]?(?:token|apikey|api_key|signature|secret|key|code|auth|access_key)=([\w.~%+/-]{12,})`, accept: isOpaque},
	}
	for _, f := range forms {
		r := &rule{id: f.id, label: f.id, mode: anchored, reach: 512, source: "^" + f.source, entropy: f.entropy}
		r.keywords = strings.Split(f.keywords, " ")
		rules = append(rules, r)
	}
	return rules
}

// forms are secrets that are known by their form. Expressions begin with the
// keyword. Keywords are separated by spaces.
var forms = []struct {
	id, keywords, source string
	entropy              float64
}{
	{"anthropic-token", "sk-ant-", `sk-ant-[a-z0-9]{2,12}-[A-Za-z0-9_-]{20,}`, 3},
	{"openai-token", "sk-proj- sk-svcacct- sk-admin- sk-or-v1-", `sk-(?:proj|svcacct|admin|or-v1)-[A-Za-z0-9_-]{20,}`, 3},
	{"api-secret-key", "sk-", `sk-([A-Za-z0-9]{32,100})(?:[^A-Za-z0-9_-]|$)`, 3.5},
	{"webhook-secret", "whsec_", `whsec_[A-Za-z0-9+/=_-]{16,128}`, 3},
	{"discord-webhook", "/api/webhooks/", `/api(?:/v\d+)?/webhooks/\d{15,22}/([\w-]{40,100})`, 3},
	{"slack-client-token", "xoxc- xoxd-", `xox[cd]-[\w%-]{20,}`, 3},
	{"google-oauth-token", "ya29.", `ya29\.[\w-]{30,}`, 3},
	{"google-oauth-secret", "gocspx-", `GOCSPX-[\w-]{24,40}`, 3},
	{"google-refresh-token", "1//0", `1//0[\w-]{30,150}`, 3},
	{"huggingface-token", "hf_", `hf_[A-Za-z0-9]{30,60}`, 3},
	{"groq-key", "gsk_", `gsk_[A-Za-z0-9]{40,80}`, 3},
	{"xai-key", "xai-", `xai-[A-Za-z0-9]{40,120}`, 3},
	{"replicate-token", "r8_", `r8_[A-Za-z0-9]{30,60}`, 3},
	{"pinecone-key", "pcsk_", `pcsk_[A-Za-z0-9_]{30,100}`, 3},
	{"supabase-key", "sbp_ sb_secret_", `(?:sbp|sb_secret)_[A-Za-z0-9_-]{20,80}`, 3},
	{"docker-pat", "dckr_pat_ dckr_oat_", `dckr_[po]at_[\w-]{20,80}`, 3},
	{"figma-token", "figd_", `figd_[\w-]{30,80}`, 3},
	{"nvidia-key", "nvapi-", `nvapi-[\w-]{40,120}`, 3},
	{"tavily-key", "tvly-", `tvly-[\w-]{20,80}`, 3},
	{"github-token", "ghp_ gho_ ghu_ ghs_ ghr_", `gh[pousr]_[A-Za-z0-9]{36,}`, 3},
	{"gitlab-token", "glpat- gldt- glrt- glptt- glft-", `gl(?:pat|dt|rt|ptt|ft)-[\w-]{20,100}`, 3},
	{"password-hash", "$2a$ $2b$ $2y$ $5$ $6$ $y$ $argon2 $apr1$", `(?:\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}|\$[56y]\$[^\s:"']{20,}|\$argon2[a-z]{1,2}\$[^\s:"']{40,}|\$apr1\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{20,24})`, 3},
	{"discord-bot-token", "bot m bot n bot o", `(?i:bot )[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,40}`, 3},
	{"stripe-key", "sk_live_ rk_live_ sk_test_ rk_test_", `[sr]k_(?:live|test)_[A-Za-z0-9]{16,120}`, 3},
	{"telegram-token", ":aa", `:(AA[A-Za-z0-9_-]{33})(?:[^A-Za-z0-9_-]|$)`, 3.5},
	{"jwt", "eyj", `eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]{10,})?`, 3},
}

// maxPEM bounds a block, in bytes.
const maxPEM = 32 << 10

// findPEM finds private keys: what stands between the lines that begin and end
// them, or, where the end is missing, the lines that look like their content.
func findPEM(f *finder, at, end int) {
	text := f.text
	head := text[at:min(len(text), at+128)]
	close := strings.Index(head[10:], "-----")
	if close < 0 || !strings.Contains(strings.ToUpper(head[:10+close]), "PRIVATE KEY") {
		return
	}
	if at < f.pem.done {
		return
	}
	from := at + 10 + close + 5
	to := min(len(text), from+maxPEM)
	f.work += len(head)
	body := text[from:to]
	if f.pem.end < from { // the next end, looked for once
		f.pem.end = len(text)
		if i := strings.Index(text[from:], "-----END"); i >= 0 {
			f.pem.end = from + i
		}
		f.work += f.pem.end - from
	}
	stop := from
	if f.pem.end < to {
		stop = f.pem.end + 8
		if j := strings.Index(text[stop:min(len(text), stop+100)], "-----"); j >= 0 {
			stop += j + 5
		}
	} else {
		stop = from + contentLength(body)
		f.work += stop - from
	}
	f.pem.done = stop
	if stop-from < 32 { // a mention, not a key
		return
	}
	f.found(f.rules.pem, span{at, stop}, span{at, stop})
}

// contentLength returns how much of a text can be the content of a PEM block.
func contentLength(text string) int {
	n := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if !isToken(c) && !isSpace(c) && c != '\\' && c != ':' && c != ',' && c != '"' {
			break
		}
		if c == ' ' && n > 0 && i-n > 90 {
			break
		}
		if !isSpace(c) {
			n = i + 1
		}
	}
	return n
}

// findURL finds the password in a URL, or the token that stands for user and
// password.
func findURL(f *finder, at, end int) {
	text := f.text[:min(len(f.text), end+400)]
	last, colon, i := -1, -1, end
scan:
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c == '@':
			last = i
		case c == ':' && colon < 0:
			colon = i
		case c == '/' || c == '?' || c == '#' || c == '"' || c == '\'' || c == '`' || c == '<' || c == '>' || c == '\\' || isSpace(c):
			break scan
		}
	}
	f.work += i - end
	if last < 0 || last+1 >= len(text) || !isWord(text[last+1]) && text[last+1] != '[' && text[last+1] != '$' && text[last+1] != '{' {
		return
	}
	if colon >= 0 && colon < last {
		value := span{colon + 1, last}
		if user := f.text[end:colon]; user == "x-access-token" || user == "oauth2" || user == "x-token-auth" || notDummy(f.text[value.start:value.end]) {
			if !isPort(f.text[value.start:value.end]) {
				f.found(f.rules.url, value, span{at, last})
			}
		}
		if user := f.text[end:colon]; len(user) >= 20 && isOpaque(user) {
			f.found(f.rules.url, span{end, colon}, span{at, last})
		}
		return
	}
	if user := f.text[end:last]; len(user) >= 16 && isOpaque(user) {
		f.found(f.rules.url, span{end, last}, span{at, last})
	}
}

func isPort(s string) bool { return len(s) <= 2 && shapeOf(s).digits == len(s) }

// findAuthorization finds what a header of that name has beside the schemes that
// have rules of their own.
func findAuthorization(f *finder, at, end int) {
	i, op, _ := f.operator(end)
	if op == 0 {
		return
	}
	i, quoted := f.quote(i)
	for range 2 { // a scheme
		word := i
		for word < len(f.text) && word-i < 24 && (isLetter(f.text[word]) || f.text[word] == '-') {
			word++
		}
		if word == i || word >= len(f.text) || f.text[word] != ' ' {
			break
		}
		i = word + 1
	}
	s := f.value(i, quoted)
	if value := f.text[s.start:s.end]; len(value) >= 8 && isOpaque(value) {
		f.found(f.rules.authorization, s, span{at, s.end})
	}
}

func findBearer(f *finder, at, end int) {
	if at > 0 && isWord(f.text[at-1]) {
		return
	}
	i := end
	for i < len(f.text) && i-end < 6 && (f.text[i] == ' ' || f.text[i] == ':' || f.text[i] == '"' || f.text[i] == '\'' || f.text[i] == '\\' || f.text[i] == '+' || f.text[i] == '=') {
		i++
	}
	if i == end {
		return
	}
	s := f.token(i, 4096)
	value := strings.TrimRight(f.text[s.start:s.end], ".")
	s.end = s.start + len(value)
	sh := shapeOf(value)
	if len(value) >= 8 && notDummy(value) && (sh.digits >= 2 && sh.letters() > 0 || len(value) >= 24 && sh.upper > 2 && sh.lower > 2) {
		f.found(f.rules.bearer, s, span{at, s.end})
	}
}

// findBasic finds the credentials of HTTP's basic scheme: a name and a password in
// base64.
func findBasic(f *finder, at, end int) {
	if at > 0 && isWord(f.text[at-1]) || end >= len(f.text) || f.text[end] != ' ' {
		return
	}
	s := f.token(end+1, 1024)
	value := strings.TrimRight(f.text[s.start:s.end], "=")
	if len(value) < 6 {
		return
	}
	plain, err := base64.RawStdEncoding.DecodeString(value)
	if err != nil {
		if plain, err = base64.RawURLEncoding.DecodeString(value); err != nil {
			return
		}
	}
	colon := false
	for _, c := range plain {
		if c < ' ' || c > '~' {
			return
		}
		colon = colon || c == ':'
	}
	if colon {
		f.found(f.rules.basic, s, span{at, s.end})
	}
}

// findCookie finds the values of cookies in headers.
func findCookie(f *finder, at, end int) {
	if at < f.cookie {
		return
	}
	i, op, _ := f.operator(end)
	if op == 0 {
		return
	}
	i, _ = f.quote(i)
	line := f.text[i:min(len(f.text), i+8<<10)]
	if n := strings.IndexByte(line, '\n'); n >= 0 {
		line = line[:n]
	}
	f.work += len(line)
	f.cookie = i + len(line)
	for at := 0; at < len(line); {
		pair := line[at:]
		next := len(line)
		if n := strings.IndexByte(pair, ';'); n >= 0 {
			pair, next = pair[:n], at+n+1
		}
		equal := strings.IndexByte(pair, '=')
		if equal <= 0 || equal > 64 || strings.ContainsAny(strings.TrimSpace(pair[:equal]), " (){}[]\"'") {
			return
		}
		from := equal + 1
		to := from
		for to < len(pair) && !isSpace(pair[to]) && strings.IndexByte(`"'\,)`, pair[to]) < 0 {
			to++
		}
		if value := pair[from:to]; len(value) >= 8 && !isCookieAttribute(strings.TrimSpace(pair[:equal])) && isOpaque(value) {
			start := i + at + from
			f.found(f.rules.cookie, span{start, start + to - from}, span{i, start})
		}
		if to < len(pair) && strings.IndexByte(`"')`, pair[to]) >= 0 {
			return
		}
		at = next
	}
}

func isCookieAttribute(name string) bool {
	switch strings.ToLower(name) {
	case "path", "domain", "expires", "max-age", "samesite", "version", "priority":
		return true
	}
	return false
}
