package session

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path"
	"runtime"
	"strings"

	"hexapla/session/registry"
)

// WorkspaceID derives the id of a workspace that is opened for the first time
// from its URI: 16 hex digits of the SHA-256 of the normalised form. The id, never
// the URI, names folders. Which id a folder has later is what the registry says.
func WorkspaceID(uri string) string {
	sum := sha256.Sum256([]byte(normaliseURI(uri)))
	return hex.EncodeToString(sum[:8])
}

// normaliseURI gives the spellings of one file URI that clients use one form
// (L3): scheme and drive letter in lower case, escapes decoded, dots resolved,
// no slash at the end. A plain path counts as a file. Other URIs stay as they
// are.
func normaliseURI(uri string) string {
	if isWindowsPath(uri) {
		uri = "file:///" + strings.ReplaceAll(uri, `\`, "/")
	} else if strings.HasPrefix(uri, "/") {
		uri = (&url.URL{Scheme: "file", Path: uri}).String()
	}
	u, err := url.Parse(uri)
	if err != nil || !strings.EqualFold(u.Scheme, "file") {
		return uri
	}
	p := path.Clean("/" + u.Path)
	if len(p) >= 3 && p[2] == ':' && isLetter(p[1]) {
		p = "/" + strings.ToLower(p[1:2]) + p[2:]
	}
	host := strings.ToLower(u.Host)
	if host == "localhost" {
		host = ""
	}
	return "file://" + host + p
}

// folderOf is what the registry is asked about a URI. Only file URIs of this
// machine have a path; a share of another one is known by its name.
func folderOf(uri string) registry.Place {
	p := registry.Place{URI: normaliseURI(uri), ID: WorkspaceID(uri)}
	if local, ok := strings.CutPrefix(p.URI, "file:///"); ok {
		p.Path = "/" + local
		if windows := len(local) >= 2 && local[1] == ':' && isLetter(local[0]); windows != (runtime.GOOS == "windows") {
			p.Path = "" // of another system
		} else if windows {
			p.Path = local
		}
	}
	return p
}

func isWindowsPath(s string) bool {
	return len(s) >= 3 && isLetter(s[0]) && s[1] == ':' && (s[2] == '\\' || s[2] == '/')
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
