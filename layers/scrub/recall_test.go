package scrub

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

const (
	lowers = "abcdefghijklmnopqrstuvwxyz"
	uppers = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
	hexes  = "0123456789abcdef"
	alnum  = lowers + uppers + digits
	url64  = alnum + "-_"
	std64  = alnum + "+/"
)

// maker makes fake secrets. Nothing in this repository has the form of a real one:
// they are put together here.
type maker struct{ *rand.Rand }

func (m maker) of(chars string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = chars[m.IntN(len(chars))]
	}
	return string(b)
}

func (m maker) pick(from ...string) string { return from[m.IntN(len(from))] }

// password is one as people choose them and as generators do.
func (m maker) password() string {
	word := m.pick("sunshine", "Trombone", "winter", "marble", "Otter", "copper", "Harbor", "violet", "saturn", "Pepper")
	switch m.IntN(4) {
	case 0:
		return word + m.of(digits, 2+m.IntN(3)) + m.pick("!", "#", "$", "*")
	case 1:
		return strings.ToUpper(word[:1]) + word[1:] + "-" + m.pick("lamp", "Stone", "cloud") + m.of(digits, 3)
	case 2:
		return m.of(alnum+"!#%^*", 8+m.IntN(12)) + m.of(digits, 1) + m.of(lowers, 1)
	}
	return m.of(lowers, 4) + m.of(digits, 4) + m.of(uppers, 2)
}

// family is a kind of secrets with the texts that it is planted in.
type family struct {
	name string
	make func(m maker) string
	// in are the texts around it; nil for those that suit any token.
	in []func(m maker, secret string) string
}

func format(texts ...string) []func(maker, string) string {
	var out []func(maker, string) string
	for _, text := range texts {
		out = append(out, func(_ maker, secret string) string { return strings.ReplaceAll(text, "SECRET", secret) })
	}
	return out
}

// tokenCarriers suit whatever has a form of its own; no word says what it is.
func tokenCarriers() []func(maker, string) string {
	return append(format(
		"# settings\nAPP_VALUE=SECRET\nDEBUG=1\n",
		`{"name": "x", "value": "SECRET", "n": 3}`,
		"\tclient := NewClient(\"SECRET\", time.Second)\n",
		"I put SECRET there, can you look at it?",
		"2026-01-12T10:00:00Z INFO request id=17 with SECRET took 12ms\n",
		"https://example.org/v1/items?page=2&x=SECRET",
		"X-Custom: SECRET\r\nAccept: */*\r\n",
		"service:\n  value: SECRET\n  replicas: 2\n",
		"export VALUE='SECRET' && ./run.sh\n",
		"| staging | SECRET | ok |",
	), func(_ maker, secret string) string {
		b, _ := json.Marshal(map[string]string{"config": `{"v":"` + secret + `"}`})
		return string(b)
	})
}

func named(names ...string) []func(maker, string) string {
	return []func(maker, string) string{
		func(m maker, s string) string {
			return "HOST=db\n" + strings.ToUpper(m.pick(names...)) + "=" + s + "\nPORT=1\n"
		},
		func(m maker, s string) string { return fmt.Sprintf(`{"user": "app", %q: %q}`, m.pick(names...), s) },
		func(m maker, s string) string { return fmt.Sprintf("\tcfg.%s = \"%s\"\n", m.pick(names...), s) },
		func(m maker, s string) string { return fmt.Sprintf("const %s = '%s';\n", m.pick(names...), s) },
		func(m maker, s string) string {
			return "db:\n  host: db\n  " + m.pick(names...) + ": \"" + s + "\"\n"
		},
		func(m maker, s string) string {
			return "export " + strings.ToUpper(m.pick(names...)) + "='" + s + "'\n"
		},
		func(m maker, s string) string {
			return "12:00:01 DEBUG connecting with " + m.pick(names...) + "=" + s + " to db\n"
		},
		func(m maker, s string) string { return "The " + m.pick(names...) + " is " + s + " today." },
		func(m maker, s string) string { return "use `" + m.pick(names...) + "`: `" + s + "` please" },
		func(m maker, s string) string {
			b, _ := json.Marshal(map[string]string{"body": fmt.Sprintf(`{%q:%q}`, m.pick(names...), s)})
			return string(b)
		},
	}
}

func families() []family {
	password := func(m maker) string { return m.password() }
	urlSafe := func(m maker) string {
		return m.of(alnum, 6+m.IntN(10)) + m.of(digits, 2)
	}
	return []family{
		{"github token", func(m maker) string { return "gh" + m.pick("p", "o", "u", "s", "r") + "_" + m.of(alnum, 36) }, nil},
		{"github fine-grained", func(m maker) string { return "github_" + "pat_" + m.of(alnum, 22) + "_" + m.of(alnum, 59) }, nil},
		{"gitlab token", func(m maker) string { return "glp" + "at-" + m.of(alnum, 20) }, nil},
		{"slack bot token", func(m maker) string {
			return "xox" + "b-" + m.of(digits, 11) + "-" + m.of(digits, 12) + "-" + m.of(alnum, 24)
		}, nil},
		{"aws access key id", func(m maker) string { return "AK" + "IA" + m.of(uppers+"234567", 16) }, nil},
		{"aws secret key", func(m maker) string { return m.of(std64, 39) + m.of(alnum, 1) }, named("aws_secret_access_key", "secretAccessKey")},
		{"google api key", func(m maker) string { return "AI" + "za" + m.of(url64, 35) }, nil},
		{"stripe key", func(m maker) string { return m.pick("sk", "rk") + "_li" + "ve_" + m.of(alnum, 24) }, nil},
		{"openai key", func(m maker) string {
			return "sk-" + "proj-" + m.of(url64, 74) + "T3" + "BlbkFJ" + m.of(url64, 74)
		}, nil},
		{"openai short key", func(m maker) string { return "sk-" + m.of(alnum, 48) }, nil},
		{"anthropic key", func(m maker) string { return "sk-" + "ant-api03-" + m.of(url64, 93) + "AA" }, nil},
		{"anthropic oauth", func(m maker) string { return "sk-" + "ant-oat01-" + m.of(url64, 86) + "AA" }, nil},
		{"hugging face", func(m maker) string { return "h" + "f_" + m.of(lowers+uppers, 34) }, nil},
		{"npm token", func(m maker) string { return "np" + "m_" + m.of(alnum, 36) }, nil},
		{"pypi token", func(m maker) string { return "py" + "pi-AgEIcHlwaS5vcmc" + m.of(url64, 80) }, nil},
		{"vault token", func(m maker) string { return "hv" + "s." + m.of(url64, 94) }, nil},
		{"sendgrid", func(m maker) string { return "S" + "G." + m.of(url64, 22) + "." + m.of(url64, 43) }, nil},
		{"digitalocean", func(m maker) string { return "do" + "p_v1_" + m.of(hexes, 64) }, nil},
		{"webhook secret", func(m maker) string { return "wh" + "sec_" + m.of(std64, 32) }, nil},
		{"docker pat", func(m maker) string { return "dck" + "r_pat_" + m.of(url64, 27) }, nil},
		{"jwt", func(m maker) string {
			head := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`))
			body := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"sub":"%s","iat":%s}`, m.of(digits, 10), m.of(digits, 9)))
			return head + "." + body + "." + m.of(url64, 43)
		}, nil},
		{"private key", func(m maker) string {
			var b strings.Builder
			for range 8 {
				b.WriteString(m.of(std64, 64) + "\n")
			}
			return b.String()
		}, append(format(
			"-----BEGIN "+"RSA PRIVATE KEY-----\nSECRET-----END RSA PRIVATE KEY-----\n",
			"key: |\n-----BEGIN "+"PRIVATE KEY-----\nSECRET-----END PRIVATE KEY-----\n",
			"cat id_ed25519\n-----BEGIN "+"OPENSSH PRIVATE KEY-----\nSECRET-----END OPENSSH PRIVATE KEY-----\n$ ",
			"cut off:\n-----BEGIN "+"EC PRIVATE KEY-----\nSECRET",
		), func(_ maker, secret string) string {
			b, _ := json.Marshal(map[string]string{"private_key": "-----BEGIN " + "PRIVATE KEY-----\n" + secret + "-----END PRIVATE KEY-----\n"})
			return string(b)
		})},
		{"password setting", password, named("password", "db_password", "passwd", "smtp_password", "adminPassword")},
		{"database url", urlSafe, format(
			"DATABASE_URL=postgres:"+"//app:SECRET@db.example.org:5432/main\n", `{"dsn": "mysql:`+`//root:SECRET@10.0.0.3/app"}`,
			"\tdb, err := sql.Open(\"postgres\", \"postgres:"+"//u:SECRET@localhost/x?sslmode=disable\")\n",
			"I connect to mongodb+srv:"+"//svc:SECRET@cluster0.abcde.mongodb.net/prod and it hangs", "redis:\n  url: redis:"+"//:SECRET@cache:6379/0\n",
			"2026-01-01 ERROR dial amqp:"+"//guest:SECRET@mq:5672/: refused\n", "psql 'postgresql:"+"//me:SECRET@db/x'",
			"Server=db;Database=x;User Id=sa;Password=SECRET;Encrypt=true", "jdbc:postgresql:"+"//db/x?user=me&password=SECRET&ssl=true",
		)},
		{"git url", func(m maker) string { return m.of(alnum, 22) + m.of(digits, 2) }, format(
			"git clone https:"+"//SECRET@git.example.org/a/b.git\n", "origin\thttps:"+"//oauth2:SECRET@gitlab.example.org/a/b.git (fetch)\n",
			`{"repository": "https:`+`//x-access-token:SECRET@github.com/a/b"}`, "remote: https:"+"//me:SECRET@bitbucket.org/a/b\n",
			"pip install --index-url https:"+"//ci:SECRET@pypi.example.org/simple x", "fatal: unable to access 'https:"+"//bot:SECRET@git.example.org/x/': 403",
		)},
		{"bearer header", func(m maker) string { return m.of(m.pick(hexes, alnum, url64), 32) + m.of(digits, 2) }, format(
			"Authorization: Bearer SECRET\r\n", `{"headers": {"Authorization": "Bearer SECRET"}}`, "curl -H 'Authorization: Bearer SECRET' https://api.example.org\n",
			"headers = {\"authorization\": \"Bearer SECRET\"}\n", "req.Header.Set(\"Authorization\", \"Bearer SECRET\")\n", "> authorization: bearer SECRET\n",
			"the call needs Bearer SECRET in the header", "headers:\n  Authorization: Bearer SECRET\n", "{\\\"Authorization\\\": \\\"Bearer SECRET\\\"}",
		)},
		{"basic header", func(m maker) string {
			return base64.StdEncoding.EncodeToString([]byte("user" + m.of(lowers, 3) + ":" + m.password()))
		}, format(
			"Authorization: Basic SECRET\r\n", `{"Authorization": "Basic SECRET"}`, "curl -H \"Authorization: Basic SECRET\" https://api.example.org\n",
			"headers:\n  Authorization: Basic SECRET\n", "req.setHeader('Authorization', 'Basic SECRET');\n", "> Proxy-Authorization: Basic SECRET\n",
		)},
		{"api key header", func(m maker) string { return m.of(m.pick(hexes, alnum), 32) + m.of(digits, 2) }, format(
			"X-API-Key: SECRET\r\n", `{"x-api-key": "SECRET"}`, "curl -H 'x-api-key: SECRET' https://api.example.org\n", "headers:\n  X-Api-Key: SECRET\n",
			"req.Header.Set(\"X-Api-Key\", \"SECRET\")\n", "https://api.example.org/v1?api_key=SECRET&x=1", "GET /v1/x?access_token=SECRET HTTP/1.1",
		)},
		{"cookie", func(m maker) string { return m.of(m.pick(hexes, alnum), 26) + m.of(digits, 4) }, format(
			"Set-Cookie: session=SECRET; Path=/; HttpOnly\r\n", "Cookie: theme=dark; sid=SECRET; lang=en\r\n", `{"cookie": "connect.sid=SECRET; a=b"}`,
			"curl -b 'sessionid=SECRET' https://example.org\n", "document.cookie = \"auth=SECRET; path=/\"\n", "< set-cookie: JSESSIONID=SECRET; Secure\n",
			"headers:\n  Cookie: csrftoken=SECRET\n",
		)},
		{"netrc", password, format(
			"machine api.example.org login me password SECRET\n", "machine git.example.org\n  login bot\n  password SECRET\n", "default login anonymous password SECRET\n",
		)},
		{"opaque token setting", func(m maker) string { return m.of(m.pick(hexes, alnum, url64), 24+m.IntN(24)) + m.of(digits, 2) },
			named("token", "api_key", "client_secret", "access_token", "secret_key", "auth_token")},
		{"shell flag", password, format(
			"mysqldump -u root -pSECRET app > dump.sql\n", "sshpass -p 'SECRET' ssh me@host\n", "tool login --user me --password SECRET\n",
			"tool --password=SECRET sync\n", "curl -u me:SECRET https://example.org\n", "docker login -u me -p SECRET registry.example.org\n", "redis-cli -h cache -a SECRET ping\n",
		)},
		{"azure storage", func(m maker) string { return m.of(std64, 86) + "==" }, format(
			"DefaultEndpointsProtocol=https;AccountName=x;AccountKey=SECRET;EndpointSuffix=core.windows.net",
			`{"conn": "AccountName=x;AccountKey=SECRET"}`, "AZURE_STORAGE_KEY=SECRET\n", "az storage list --account-key SECRET\n",
		)},
		{"discord webhook", func(m maker) string { return m.of(url64, 68) }, format(
			"https://discord.com/api/webhooks/123456789012345678/SECRET", `{"hook": "https://discordapp.com/api/webhooks/123456789012345678/SECRET"}`,
			"HOOK=https://discord.com/api/webhooks/998877665544332211/SECRET\n", "curl -d @x https://discord.com/api/webhooks/123456789012345678/SECRET\n",
		)},
		{"slack webhook", func(m maker) string {
			return "T" + m.of(uppers+digits, 8) + "/B" + m.of(uppers+digits, 8) + "/" + m.of(alnum, 24)
		}, format(
			"https://hooks.slack.com/services/SECRET", `{"url":"https://hooks.slack.com/services/SECRET"}`, "HOOK=https://hooks.slack.com/services/SECRET\n",
		)},
		{"sentry dsn", func(m maker) string { return m.of(hexes, 32) }, format(
			"SENTRY_DSN=https:"+"//SECRET@o1.ingest.sentry.io/2\n", `Sentry.init({ dsn: "https:`+`//SECRET@o99.ingest.sentry.io/42" })`, "dsn: https:"+"//SECRET@sentry.example.org/7\n",
		)},
		{"password hash", func(m maker) string { return "$2" + m.pick("a", "b", "y") + "$12$" + m.of(alnum+"./", 53) }, nil},
		{"telegram bot token", func(m maker) string { return m.of(digits, 10) + ":A" + "A" + m.of(url64, 33) }, nil},
	}
}

// TestY6_Recall plants fake secrets of many families in settings, JSON, code,
// prose, logs, URLs, headers, YAML and shell commands. A secret counts as found
// when nothing of it is left.
func TestY6_Recall(t *testing.T) {
	t.Parallel()
	s := compiled(t, DefaultSettings())
	const each = 60
	total, gone := 0, 0
	for _, f := range families() {
		m := maker{rand.New(rand.NewPCG(7, uint64(len(f.name))))}
		carriers := f.in
		if carriers == nil {
			carriers = tokenCarriers()
		}
		found := 0
		var missed []string
		for i := range each {
			secret := f.make(m)
			text := carriers[i%len(carriers)](m, secret)
			clean, _ := s.Scrub(text)
			if left(clean, secret) {
				missed = append(missed, clean)
				continue
			}
			found++
		}
		total, gone = total+each, gone+found
		t.Logf("%-22s %d of %d", f.name, found, each)
		if found*100 < each*95 {
			t.Errorf("%s: %d of %d found, want 95 %%; left for example %q", f.name, found, each, missed[:min(len(missed), 6)])
		}
	}
	t.Logf("%d of %d, %.1f %%, %d families", gone, total, float64(gone)*100/float64(total), len(families()))
}

// left tells whether a secret, or a line of it, is in a text.
func left(text, secret string) bool {
	for _, part := range strings.Split(strings.TrimSpace(secret), "\n") {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

func compiled(t testing.TB, settings Settings) *Scrubber {
	t.Helper()
	rules, err := Compile(settings)
	if err != nil {
		t.Fatal(err)
	}
	return rules.With([]byte("a key for tests"))
}
