package minify

// TokenKind is what a token of source is.
type TokenKind int

// Kinds of tokens.
const (
	TokenCode    TokenKind = iota // a word, one sign, or a literal
	TokenBlank                    // spaces and tabs
	TokenNewline                  // one line feed
	TokenComment                  // also one that minifying leaves
)

// Token is a piece of source. All of them in their order are the source.
type Token struct {
	Kind TokenKind
	Text string
}

// Tokens takes source apart. It is false for what [Code] leaves as it is.
func Tokens(source string, language Language) ([]Token, bool) {
	s, ok := newScanner(source, language)
	if !ok {
		return nil, false
	}
	tokens := make([]Token, 0, len(source)/4)
	for s.at < len(source) {
		from := s.at
		kind := s.next()
		if s.lost || s.at > len(source) {
			return nil, false
		}
		token := Token{TokenCode, source[from:s.at]}
		switch kind {
		case kindBlank:
			token.Kind = TokenBlank
		case kindNewline:
			token.Kind = TokenNewline
		case kindComment, kindKept, kindGuard:
			token.Kind = TokenComment
		}
		tokens = append(tokens, token)
	}
	return tokens, true
}
