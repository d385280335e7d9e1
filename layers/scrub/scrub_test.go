package scrub

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// everything is all that can be looked for.
func everything() Settings {
	return Settings{Secrets: true, PII: PII{Cards: true, IBANs: true, Mails: true, Phones: true, IPs: true, Region: "DE"}}
}

// TestY6_RulesCompile: expressions are compiled when they are first needed, which
// must not be when a user's text comes.
func TestY6_RulesCompile(t *testing.T) {
	t.Parallel()
	s := compiled(t, everything())
	if len(s.rules.rules) < 250 {
		t.Errorf("%d rules, want 250 or more", len(s.rules.rules))
	}
	for _, r := range s.rules.rules {
		if r.source != "" {
			r.regexp()
		} else if r.find == nil {
			t.Errorf("%s finds nothing", r.id)
		}
		if len(r.keywords) == 0 {
			t.Errorf("%s has no keywords", r.id)
		}
		for i := range r.allow {
			r.allow[i].allows("x", "x", "x")
		}
		if !isRuleID(r.id) || len(r.label) > maxLabel || !s.rules.labels[r.label] {
			t.Errorf("%s: id or label %q is of no placeholder's form", r.id, r.label)
		}
	}
}

// anyText draws texts that are full of what rules look at: secrets in their
// carriers, halves of them, placeholders, and the characters between.
func anyText(r *rapid.T) string {
	all := families()
	var b strings.Builder
	for range rapid.IntRange(1, 6).Draw(r, "parts") {
		m := maker{rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 1))}
		f := all[rapid.IntRange(0, len(all)-1).Draw(r, "family")]
		carriers := f.in
		if carriers == nil {
			carriers = tokenCarriers()
		}
		switch rapid.IntRange(0, 5).Draw(r, "kind") {
		case 0, 1:
			b.WriteString(carriers[m.IntN(len(carriers))](m, f.make(m)))
		case 2:
			secret := f.make(m)
			b.WriteString(secret[:m.IntN(len(secret))])
		case 3:
			b.WriteString(rapid.StringMatching(`[a-z ]{0,9}(password|token|secret|key|Bearer |://|: "|="|@|\[secret:github-pat:|\[secret:credential:0a1b2c\]|-----BEGIN )[ a-zA-Z0-9:="\[\]@.+-]{0,40}`).Draw(r, "near"))
		case 4:
			b.WriteString(rapid.String().Draw(r, "noise"))
		case 5:
			b.WriteString(m.pick("4111 1111 1111 1111", "DE89370400440532013000", "+49 30 901820", "me@example.org", "8.8.8.8", "2001:4860:4860::8888"))
		}
		b.WriteString(m.pick("", " ", "\n", "\"", ", "))
	}
	return b.String()
}

// TestY6_Laws: scrubbing what was scrubbed changes nothing, and it always gives
// the same.
func TestY6_Laws(t *testing.T) {
	t.Parallel()
	one, other := compiled(t, everything()), compiled(t, everything())
	rapid.Check(t, func(r *rapid.T) {
		text := anyText(r)
		once, _ := one.Scrub(text)
		if twice, found := one.Scrub(once); twice != once {
			r.Fatalf("%q\nonce  %q\ntwice %q\n%+v", text, once, twice, found)
		}
		if again, _ := other.Scrub(text); again != once {
			r.Fatalf("%q\n%q\n%q", text, once, again)
		}
	})
}

var anyPlaceholder = regexp.MustCompile(`\[(?:secret|pii):[a-z0-9-]+:[0-9a-f]{6}\]`)

// TestY6_SamePlaceholder: a secret has one placeholder, in whatever text, and
// another key makes another.
func TestY6_SamePlaceholder(t *testing.T) {
	t.Parallel()
	s := compiled(t, DefaultSettings())
	other := s.rules.With([]byte("another key"))
	for _, f := range families() {
		if f.in != nil && f.name != "password setting" && f.name != "opaque token setting" && f.name != "bearer header" {
			continue
		}
		m := maker{rand.New(rand.NewPCG(11, 3))}
		carriers := f.in
		if carriers == nil {
			carriers = tokenCarriers()
		}
		secret := f.make(m)
		for f.name == "bearer header" && shapeOf(secret).upper == 0 {
			secret = f.make(m)
		}
		seen := map[string]bool{}
		for _, in := range carriers {
			text := in(m, secret)
			clean, _ := s.Scrub(text)
			if left(clean, secret) {
				continue // counted by the test of recall
			}
			for _, p := range anyPlaceholder.FindAllString(clean, -1) {
				seen[p] = true
			}
			if elsewhere, _ := other.Scrub(text); elsewhere == clean {
				t.Errorf("%s: another key gives the same", f.name)
			}
		}
		if len(seen) != 1 {
			t.Errorf("%s: %d placeholders for one secret: %v", f.name, len(seen), seen)
		}
	}
}

// TestY6_Left: what is no secret stays: words that stand for one, references,
// code, ids, checksums.
func TestY6_Left(t *testing.T) {
	t.Parallel()
	s := compiled(t, DefaultSettings())
	for _, text := range []string{
		"password: string", "password: z.string().min(8)", `"password": "Password"`, "PASSWORD=${DB_PASSWORD}", "password = getPassword(user)", "DB_PASSWORD=changeme",
		"password=<your-password>", "token := tokens[0]", "the token is expired", "maxTokens: 4096", "tokenCount = 1234567890", "Authorization: Bearer ${TOKEN}", "Authorization: Bearer $TOKEN",
		"secretName: my-app-secret", "commit 3f2a9d0c4b5e6f708192a3b4c5d6e7f8091a2b3c", "sha256:" + strings.Repeat("3f2a9d0c", 8), "id 6fa459ea-ee8a-3ca4-894e-db77e160355e",
		"http://localhost:8080/path@2", "https://user@example.org/x", "git@github.com:a/b.git", "keyboard: qwerty123456", "basic auth is used", "func Basic(a int) {}", "PWD=/home/me/project",
		"--- PASS: TestToken/valid_UUID-like_ID (0.00s)", "export PASS=" + "\"$1\"", "[secret:github-pat:7f3a2c]", "order 4111111111111112", "1234-5678-9012-3456",
		"std::vector<int>", "10.0.0.1 and 192.168.1.1", "me@example.org", "8.8.8.8", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "-----BEGIN " + "PRIVATE KEY-----",
	} {
		if clean, found := s.Scrub(text); clean != text {
			t.Errorf("%q became %q by %+v", text, clean, found)
		}
	}
}

func TestY6_PersonalData(t *testing.T) {
	t.Parallel()
	s, fewer := compiled(t, everything()), compiled(t, DefaultSettings())
	for _, c := range []struct {
		text, want string
		byDefault  bool
	}{
		{"card 4111 1111 1111 1111 ok", "card", true}, {"5500005555555559", "card", true}, {"3782 822463 10005", "card", true},
		{"IBAN DE89 3704 0044 0532 0130 00.", "iban", true}, {"GB82WEST12345698765432", "iban", true},
		{"write to jane.doe+x@mail.example.org.", "mail", false}, {"call +49 30 901820 now", "phone", false}, {"call 030 901820 now", "phone", false},
		{"ping 8.8.4.4", "ip", false}, {"host 2001:4860:4860::8888 up", "ip", false},
	} {
		clean, found := s.Scrub(c.text)
		if len(found) != 1 || found[0].Family != c.want || !strings.Contains(clean, "[pii:"+c.want+":") {
			t.Errorf("%q became %q by %+v", c.text, clean, found)
		}
		if clean, _ := fewer.Scrub(c.text); (clean != c.text) != c.byDefault {
			t.Errorf("by default %q became %q", c.text, clean)
		}
	}
	for _, text := range []string{
		"4111111111111112", "6fa459ea-ee8a-3ca4-894e-441111111111", "0.4111111111111111", "DE89370400440532013001", "XX89370400440532013000", "v1.2.3.4", "1.2.3.4-rc1",
		"192.168.0.1", "127.0.0.1", "203.0.113.9", "std::map", "de::ser", "git@github.com:a/b", "user@host", "12:34:56", "2026-01-12 10:00:00", "8.8.8.8.8",
	} {
		if clean, found := s.Scrub(text); clean != text {
			t.Errorf("%q became %q by %+v", text, clean, found)
		}
	}
}

func TestY6_OwnRulesAndValues(t *testing.T) {
	t.Parallel()
	settings := DefaultSettings()
	settings.Rules = []OwnRule{{ID: "acme-key", Regex: `acme_([a-z0-9]{6})`, Keywords: []string{"ACME_"}}}
	settings.Known = []string{"Project Bluebird", "xK\"quoted\"9"}
	settings.Allow = []string{`^Trombone42!$`}
	s := compiled(t, settings)
	clean, found := s.Scrub("acme_abc123, Project Bluebird, project bluebird, xK\"quoted\"9, password=Trombone42! password=Trombone43!")
	if strings.Contains(clean, "abc123") || strings.Contains(clean, "Project Bluebird") || !strings.Contains(clean, "project bluebird") ||
		strings.Contains(clean, "quoted") || !strings.Contains(clean, "Trombone42!") || strings.Contains(clean, "Trombone43!") || len(found) != 4 {
		t.Errorf("%q by %+v", clean, found)
	}
	if s.rules.Settings().Known != nil {
		t.Error("known values are given out")
	}
}

func TestY6_Settings(t *testing.T) {
	t.Parallel()
	many := `"x"` + strings.Repeat(`,"x"`, 100)
	for text, want := range map[string]SettingError{
		`{"rules":[{"id":"A","regex":"x","keywords":["abc"]}]}`:  {Path: "secrets.rules[0].id", Limit: 48},
		`{"rules":[{"id":"a","regex":"(","keywords":["abc"]}]}`:  {Path: "secrets.rules[0].regex"},
		`{"rules":[{"id":"a","regex":"x*","keywords":["abc"]}]}`: {Path: "secrets.rules[0].regex"},
		`{"rules":[{"id":"a","regex":"x","keywords":[]}]}`:       {Path: "secrets.rules[0].keywords", Limit: maxKeywords},
		`{"rules":[{"id":"a","regex":"x","keywords":["a"]}]}`:    {Path: "secrets.rules[0].keywords[0]", Limit: maxKeyword},
		`{"allow":[` + many + `]}`:                               {Path: "secrets.allow", Limit: maxAllow},
		`{"allow":["` + strings.Repeat("x", 1001) + `"]}`:        {Path: "secrets.allow[0]", Limit: maxExpression},
		`{"known":["hunter22","abc"]}`:                           {Path: "secrets.known[1]", Limit: maxKnownBytes},
		`{"known":"hunter22"}`:                                   {Path: "secrets"},
		`{"hunter22":1}`:                                         {Path: "secrets"},
		`{"pii":{"phoneRegion":"Germany"}}`:                      {Path: "secrets.pii.phoneRegion"},
		`{"pathAllowlist":[""]}`:                                 {Path: "secrets.pathAllowlist[0]", Limit: maxPattern},
	} {
		_, err := ParseSettings([]byte(text))
		var got *SettingError
		if !errors.As(err, &got) || got.Path != want.Path || got.Limit != want.Limit {
			t.Errorf("%.60s: %v", text, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter22") {
			t.Errorf("the error repeats a value: %v", err)
		}
	}
	s, err := ParseSettings([]byte(`{"enabled":false,"pii":{"cards":false,"mails":true}}`))
	if err != nil || s.Secrets || s.PII.Cards || !s.PII.IBANs || !s.PII.Mails {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := ParseSettings([]byte(`{}`)); err != nil || fmt.Sprint(s) != fmt.Sprint(DefaultSettings()) {
		t.Errorf("%+v, %v", s, err)
	}
}

// hostile are texts that make naive scrubbers take quadratic time: a beginning, and
// what is repeated behind it.
func hostile(s *Scrubber) map[string][2]string {
	m := maker{rand.New(rand.NewPCG(5, 5))}
	words := s.rules.keywords
	return map[string][2]string{
		"one letter": {"", "a"}, "keys": {"", "key"}, "assignments": {"", "key=aaaa1"}, "tokens": {"", "token: " + m.of(alnum, 20) + " "},
		"all keywords": {"", strings.Join(words, "")}, "all keywords apart": {"", strings.Join(words, " ")}, "github": {"", "gh" + "p_"},
		"jwt": {"eyJ", m.of(alnum, 64) + ".eyJ"}, "pem": {"", "-----BEGIN " + "PRIVATE KEY-----\n"}, "pem content": {"-----BEGIN " + "PRIVATE KEY-----\n", m.of(alnum, 64) + "\n"},
		"urls": {"", "://a:"}, "at": {"", "@"}, "brackets": {"", "[secret:credential:"}, "placeholders": {"", "[secret:credential:0a1b2c]"},
		"cookies": {"", "cookie: a=b;"}, "curl": {"", "curl -u "}, "digits": {"", "4111 "}, "one run": {"", m.of(alnum, 997)}, "kind": {"", "kind: secret\n"},
		"passwords": {"", "password is " + m.password() + "\n"}, "colons": {"", "a:1"}, "mails": {"", "a@b."}, "facebook": {"", "facebook "},
	}
}

// TestY6_LinearWork counts the bytes that are looked at, by the pass, by the rules'
// expressions and by all else: twice the text must not take more than a little
// over twice the work, and 10 MB no more for each byte.
func TestY6_LinearWork(t *testing.T) {
	t.Parallel()
	s := compiled(t, everything())
	work := func(parts [2]string, n int) float64 {
		_, _, work := s.pass((parts[0] + strings.Repeat(parts[1], n/len(parts[1])+1))[:n])
		return float64(work)
	}
	for name, parts := range hostile(s) {
		const n = 64 << 10
		small, double := work(parts, n), work(parts, 2*n)
		t.Logf("%-20s %.1f bytes looked at for each", name, small/n)
		if double > 2.2*small+1<<16 {
			t.Errorf("%s: %.0f for %d bytes, %.0f for twice that", name, small, n, double)
		}
		if small > 1000*n {
			t.Errorf("%s: %.0f for %d bytes", name, small, n)
		}
	}
	const big = 10 << 20
	for _, name := range []string{"jwt", "urls", "pem content"} {
		if w := work(hostile(s)[name], big); w > 200*big {
			t.Errorf("%s: %.0f for 10 MB", name, w)
		}
	}
}

func FuzzScrub(f *testing.F) {
	f.Add("password=Trombone42! and ://a:b@c")
	f.Add("[secret:credential:0a1b2c][pii:card:000000]4111 1111 1111 1111")
	f.Add("-----BEGIN " + "PRIVATE KEY-----\\nabc")
	f.Add("curl -H \"Authorization: Bearer x\" -u a:b kind: Secret\ndata:\n  a: YWJj")
	s := compiled(f, everything())
	f.Fuzz(func(t *testing.T, text string) {
		once, _, work := s.scrub(text)
		if twice, _ := s.Scrub(once); twice != once {
			t.Errorf("%q, then %q", once, twice)
		}
		if work > maxPasses*(3000*len(text)+1<<17) {
			t.Errorf("%d bytes looked at for %d", work, len(text))
		}
	})
}

// TestY6_CutPlaceholder: what a cut leaves of a placeholder is no secret.
func TestY6_CutPlaceholder(t *testing.T) {
	t.Parallel()
	rules, err := Compile(DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	s := rules.With(make([]byte, 32))
	whole := "It is called [secret:known:29f7ad] and [secret:github-pat:0a1b2c]"
	for n := range len(whole) {
		for _, after := range []string{"", " and more", "…", "\nand more"} {
			if text := whole[:n] + after; len(s.Find(text)) > 0 {
				t.Errorf("%q: %+v", text, s.Find(text))
			}
		}
	}
	if text := "secret: [secret:known:29f7adQ7x9Lm2Vb8Zk4"; len(s.Find(text)) == 0 {
		t.Errorf("%q passes", text)
	}
}
