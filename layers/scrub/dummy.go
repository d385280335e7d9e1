package scrub

import (
	"slices"
	"strings"
)

// dummies are what people write where a secret is to stand.
var dummies = []string{
	"changeit", "changeme", "change_me", "default", "disabled", "dummy", "empty", "enabled", "env", "example", "examplepassword",
	"false", "foobar", "hidden", "hunter2-example", "insert", "mypassword", "nil", "none", "null", "optional", "pass", "passphrase", "passwd", "password",
	"placeholder", "private", "prompt", "pwd", "redacted", "required", "sample", "secret", "secrets", "string", "test", "testing", "todo",
	"token", "true", "undefined", "unknown", "unset", "user", "username", "value", "your_password", "yourpassword",
}

// notDummy tells whether a value can be a secret at all: it is no word that
// stands for one, no reference to a variable, and not one character over and over.
func notDummy(s string) bool {
	s = strings.Trim(s, " \t\"'`")
	if len(s) < 3 {
		return false
	}
	switch s[0] {
	case '$':
		// $NAME, ${NAME}, $(command), $1; hashes such as $2b$ have more of them.
		if len(s) > 1 && (s[1] == '{' || s[1] == '(' || isDigit(s[1]) && !strings.Contains(s[2:], "$") || isName(s[1:])) {
			return false
		}
	case '<':
		if strings.HasSuffix(s, ">") || !strings.ContainsAny(s, ">") {
			return false
		}
	case '%':
		if len(s) > 1 && (s[1] == '(' || s[len(s)-1] == '%') || len(s) <= 3 {
			return false
		}
	case '{', '[', '(':
		return false
	}
	if strings.Contains(s, "{{") || strings.Contains(s, "${") || strings.Contains(s, "...") || strings.HasPrefix(s, "#{") || strings.Contains(s, "process.env") || strings.Contains(s, "os.environ") {
		return false
	}
	same := true
	for i := 1; i < len(s) && same; i++ {
		same = s[i] == s[0]
	}
	if same {
		return false
	}
	if strings.Trim(s, "*xX.-_") == "" {
		return false
	}
	low := strings.ToLower(s)
	if _, found := slices.BinarySearch(dummies, low); found {
		return false
	}
	for _, part := range []string{"your-", "your_", "<your", "example.com", "xxxx", "****", "placeholder", "redacted", "changeme", "replace_", "replace-"} {
		if strings.Contains(low, part) {
			return false
		}
	}
	return true
}

// isFlagValue tells whether what follows a flag is its value.
func isFlagValue(s string) bool {
	return notDummy(s) && !strings.HasPrefix(s, "-") && (isPassword(s) || isOpaque(s))
}
