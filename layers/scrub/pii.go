package scrub

import (
	"net/netip"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// PII says which personal data is looked for.
type PII struct {
	Cards  bool   // numbers of payment cards: issuer's range and check digit (Luhn)
	IBANs  bool   // country's length and check digits (mod 97)
	Mails  bool   // mail addresses
	Phones bool   // phone numbers that libphonenumber calls valid
	IPs    bool   // public IP addresses
	Region string // country whose phone numbers are known without +; "" for none
}

func (p PII) any() bool { return p.Cards || p.IBANs || p.Mails || p.Phones || p.IPs }

// piiRules are the families of personal data.
type piiRules struct {
	PII
	card, iban, mail, phone, ip *rule
}

func newPII(p PII) piiRules {
	family := func(id string) *rule { return &rule{id: id, label: id, pii: true} }
	return piiRules{PII: p, card: family("card"), iban: family("iban"), mail: family("mail"), phone: family("phone"), ip: family("ip")}
}

// personal finds personal data. Each candidate is looked at once.
func (f *finder) personal() {
	text, p := f.text, &f.rules.pii
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case isDigit(c):
			end := f.number(i)
			f.work += end - i
			i = max(i, end-1)
		case c == '@' && p.Mails:
			if s, ok := mailAt(text, i); ok {
				f.found(p.mail, s, s)
				i = s.end - 1
			}
		case c == ':' && p.IPs && i+1 < len(text):
			if s, ok := ipv6At(text, i); ok {
				f.found(p.ip, s, s)
			}
			for i+1 < len(text) && (isHex(text[i+1]) || text[i+1] == ':') {
				i++
			}
		}
	}
}

// number looks at what begins with a digit, and returns where to go on.
func (f *finder) number(i int) (end int) {
	text, p := f.text, &f.rules.pii
	end = i
	for end < len(text) && isDigit(text[end]) {
		end++
	}
	if p.IBANs && end-i >= 2 && i >= 2 && isUpper(text[i-1]) && isUpper(text[i-2]) && (i == 2 || !isWord(text[i-3])) {
		if s, ok := ibanAt(text, i-2); ok {
			f.found(p.iban, s, s)
			return s.end
		}
	}
	before := byte(' ')
	if i > 0 {
		before = text[i-1]
	}
	if isWord(before) || before == '.' || before == '-' && i > 1 && isWord(text[i-2]) {
		return end
	}
	if p.IPs && end-i <= 3 && end < len(text) && text[end] == '.' {
		if s, ok := ipv4At(text, i); ok {
			f.found(p.ip, s, s)
			return s.end
		}
	}
	groups, digits, last := 1, end-i, end
	sizes := [8]int{end - i}
	for last+1 < len(text) && groups < len(sizes) && (text[last] == ' ' || text[last] == '-') && isDigit(text[last+1]) && digits < 20 {
		from := last + 1
		last = from
		for last < len(text) && isDigit(text[last]) {
			last++
		}
		sizes[groups] = last - from
		groups++
		digits += last - from
	}
	if p.Cards && before != '-' && before != '+' {
		stop := last
		if groups > 1 && !cardGroups(sizes[:groups]) {
			stop = end
		}
		if s := (span{i, stop}); isCard(text[i:stop]) && (stop == len(text) || !isWord(text[stop]) && !(text[stop] == '.' && stop+1 < len(text) && isDigit(text[stop+1]))) {
			f.found(p.card, s, s)
			return stop
		}
	}
	if p.Phones {
		if s, ok := f.phoneAt(i); ok {
			f.found(p.phone, s, s)
			return s.end
		}
	}
	return end
}

// cardGroups tells whether digits are grouped as on cards.
func cardGroups(sizes []int) bool {
	switch {
	case len(sizes) == 4:
		return sizes[0] == 4 && sizes[1] == 4 && sizes[2] == 4 && sizes[3] == 4
	case len(sizes) == 3:
		return sizes[0] == 4 && sizes[1] == 6 && (sizes[2] == 5 || sizes[2] == 4)
	}
	return false
}

// isCard checks length, issuer's range (ISO/IEC 7812 as published by the
// schemes) and check digit.
func isCard(s string) bool {
	var d [19]byte
	n := 0
	for i := range len(s) {
		if isDigit(s[i]) {
			if n == len(d) {
				return false
			}
			d[n] = s[i] - '0'
			n++
		}
	}
	if n < 13 {
		return false
	}
	two := int(d[0])*10 + int(d[1])
	four := two*100 + int(d[2])*10 + int(d[3])
	known := false
	switch {
	case d[0] == 4:
		known = n == 16
	case two >= 51 && two <= 55, four >= 2221 && four <= 2720:
		known = n == 16
	case two == 34 || two == 37:
		known = n == 15
	case four == 6011, two == 65, four/10 >= 644 && four/10 <= 649, two == 62, two == 35:
		known = n == 16
	case two == 36 || two == 38 || four/10 >= 300 && four/10 <= 305:
		known = n == 14 || n == 16
	}
	if !known {
		return false
	}
	sum, same := 0, true
	for i := range n {
		v := int(d[n-1-i])
		if i%2 == 1 {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum += v
		same = same && (i == 0 || d[n-1-i] == d[n-1])
	}
	return sum%10 == 0 && !same
}

// ibanLengths are the lengths of IBANs by country (SWIFT's IBAN registry).
const ibanLengths = "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BR29BY28CH21CR22CY28CZ24DE22DK18DO28EE20EG29ES24FI18FO18FR27GB22GE22GI23GL18GR27GT28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MR27MT31MU30NL18NO15PK24PL28PS29PT25QA29RO24RS22SA24SC31SD18SE24SI19SK24SM27ST25SV28TL23TN24TR26UA29VA22VG24XK20"

func ibanLength(country string) int {
	for i := 0; i+4 <= len(ibanLengths); i += 4 {
		if ibanLengths[i:i+2] == country {
			return int(ibanLengths[i+2]-'0')*10 + int(ibanLengths[i+3]-'0')
		}
	}
	return 0
}

func ibanAt(text string, at int) (span, bool) {
	want := ibanLength(text[at : at+2])
	if want == 0 {
		return span{}, false
	}
	var b [34]byte
	n, i := 0, at
	for ; i < len(text) && n < want; i++ {
		c := text[i]
		if c == ' ' && n%4 == 0 {
			continue
		}
		if !isDigit(c) && !isUpper(c) {
			return span{}, false
		}
		b[n] = c
		n++
	}
	if n < want || i < len(text) && isWord(text[i]) {
		return span{}, false
	}
	sum := 0
	for k := range n {
		c := b[(k+4)%n]
		if isDigit(c) {
			sum = (sum*10 + int(c-'0')) % 97
		} else {
			sum = (sum*100 + int(c-'A') + 10) % 97
		}
	}
	return span{at, i}, sum == 1
}

func isMail(c byte) bool { return isWord(c) || c == '.' || c == '-' || c == '+' || c == '%' }

// mailAt finds the address that has an @ at a place.
func mailAt(text string, at int) (span, bool) {
	s := span{at, at + 1}
	for s.start > 0 && at-s.start < 64 && isMail(text[s.start-1]) {
		s.start--
	}
	for s.end < len(text) && s.end-at < 255 && (isWord(text[s.end]) || text[s.end] == '.' || text[s.end] == '-') {
		s.end++
	}
	for s.end > at && (text[s.end-1] == '.' || text[s.end-1] == '-') {
		s.end--
	}
	user, domain := text[s.start:at], text[at+1:max(at+1, s.end)]
	dot := strings.LastIndexByte(domain, '.')
	if user == "" || user == "git" || dot <= 0 || len(domain)-dot < 3 {
		return s, false
	}
	for _, c := range []byte(domain[dot+1:]) {
		if !isLetter(c) {
			return s, false
		}
	}
	return s, !(s.end < len(text) && text[s.end] == ':' && s.end+1 < len(text) && isWord(text[s.end+1])) // not user@host:path
}

func ipv4At(text string, at int) (span, bool) {
	end := at
	for end < len(text) && end-at < 16 && (isDigit(text[end]) || text[end] == '.') {
		end++
	}
	for end > at && text[end-1] == '.' {
		end--
	}
	if end < len(text) && (isWord(text[end]) || text[end] == '-') {
		return span{}, false
	}
	return span{at, end}, isPublic(text[at:end])
}

func ipv6At(text string, colon int) (span, bool) {
	s := span{colon, colon}
	for s.start > 0 && colon-s.start < 40 && (isHex(text[s.start-1]) || text[s.start-1] == ':') {
		s.start--
	}
	for s.end < len(text) && s.end-colon < 40 && (isHex(text[s.end]) || text[s.end] == ':') {
		s.end++
	}
	if s.start > 0 && isWord(text[s.start-1]) || s.end < len(text) && isWord(text[s.end]) {
		return s, false
	}
	value := text[s.start:s.end]
	return s, strings.Count(value, ":") >= 3 && shapeOf(value).digits >= 2 && isPublic(value)
}

// documentation are the networks that are set aside for examples (RFC 5737, RFC
// 3849) and for shared use.
var documentation = [...]netip.Prefix{
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("240.0.0.0/4"),
}

func isPublic(s string) bool {
	a, err := netip.ParseAddr(s)
	if err != nil || !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, net := range documentation {
		if net.Contains(a) {
			return false
		}
	}
	if a.Is4() { // 1.2.0.0 is a version, as a rule
		b := a.As4()
		return b[1]|b[2] != 0 && b[0] > 3
	}
	return true
}

// phoneAt finds the phone number that begins with the digit at a place, or with
// the + or the bracket before it.
func (f *finder) phoneAt(at int) (span, bool) {
	text, start := f.text, at
	for start > 0 && at-start < 2 && (text[start-1] == '+' || text[start-1] == '(') {
		start--
	}
	plus := strings.Contains(text[start:at], "+")
	if !plus && (f.rules.pii.Region == "" || text[start] != '0' && text[start] != '(') {
		return span{}, false
	}
	end, digits, last := at, 0, at
	for ; end < len(text) && end-at < 24 && strings.IndexByte("0123456789 -().", text[end]) >= 0; end++ {
		if isDigit(text[end]) {
			digits++
			last = end + 1
		}
	}
	if digits < 8 || digits > 15 || last < len(text) && isWord(text[last]) || !plus && last-at == digits {
		return span{}, false // without + there must be separators: other numbers have none
	}
	n, err := phonenumbers.Parse(text[start:last], f.rules.pii.Region)
	return span{start, last}, err == nil && phonenumbers.IsValidNumber(n)
}
