package terms

// stem reduces an English word in small letters to its stem, in place, with
// Porter's algorithm (M. F. Porter, "An algorithm for suffix stripping", 1980).
// Words of up to two letters stay as they are. Stems are only for comparison.
func stem(w []byte) []byte {
	if len(w) <= 2 {
		return w
	}
	w = stemPlural(w)
	w = stemPast(w)
	if n := len(w); w[n-1] == 'y' && hasVowel(w[:n-1]) {
		w[n-1] = 'i'
	}
	w = stemDouble(w)
	w = stemSingle(w)
	w = stemRest(w)
	return stemFinal(w)
}

// isConsonant tells whether w[i] is one. A y is one unless it follows one.
func isConsonant(w []byte, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !isConsonant(w, i-1)
	}
	return true
}

// measure counts the sequences of vowels followed by consonants.
func measure(w []byte) int {
	n, vowel := 0, false
	for i := range w {
		consonant := w[i] != 'a' && w[i] != 'e' && w[i] != 'i' && w[i] != 'o' && w[i] != 'u' &&
			(w[i] != 'y' || i == 0 || vowel)
		if consonant && vowel {
			n++
		}
		vowel = !consonant
	}
	return n
}

func hasVowel(w []byte) bool {
	for i := range w {
		if !isConsonant(w, i) {
			return true
		}
	}
	return false
}

// doubled tells that w ends in a double consonant.
func doubled(w []byte) bool {
	n := len(w)
	return n >= 2 && w[n-1] == w[n-2] && isConsonant(w, n-1)
}

// short tells that w ends consonant, vowel, consonant, the last not w, x or y.
func short(w []byte) bool {
	n := len(w)
	if n < 3 || !isConsonant(w, n-1) || isConsonant(w, n-2) || !isConsonant(w, n-3) {
		return false
	}
	return w[n-1] != 'w' && w[n-1] != 'x' && w[n-1] != 'y'
}

func ends(w []byte, suffix string) bool {
	return len(w) >= len(suffix) && string(w[len(w)-len(suffix):]) == suffix
}

// swap replaces a suffix if what stands before it measures more than m. The
// result is never longer than w.
func swap(w []byte, suffix, by string, m int) []byte {
	base := w[:len(w)-len(suffix)]
	if measure(base) > m {
		return append(base, by...)
	}
	return w
}

// stemPlural is step 1a.
func stemPlural(w []byte) []byte {
	switch {
	case ends(w, "sses"), ends(w, "ies"):
		return w[:len(w)-2]
	case ends(w, "ss"):
		return w
	case ends(w, "s"):
		return w[:len(w)-1]
	}
	return w
}

// stemPast is step 1b.
func stemPast(w []byte) []byte {
	if ends(w, "eed") {
		return swap(w, "eed", "ee", 0)
	}
	base := w
	switch {
	case ends(w, "ed") && hasVowel(w[:len(w)-2]):
		base = w[:len(w)-2]
	case ends(w, "ing") && hasVowel(w[:len(w)-3]):
		base = w[:len(w)-3]
	default:
		return w
	}
	switch n := len(base); {
	case ends(base, "at"), ends(base, "bl"), ends(base, "iz"):
		return append(base, 'e')
	case doubled(base) && base[n-1] != 'l' && base[n-1] != 's' && base[n-1] != 'z':
		return base[:n-1]
	case measure(base) == 1 && short(base):
		return append(base, 'e')
	}
	return base
}

// stemDouble is step 2: double suffixes become single ones.
func stemDouble(w []byte) []byte {
	if len(w) < 3 {
		return w
	}
	switch w[len(w)-2] {
	case 'a':
		if ends(w, "ational") {
			return swap(w, "ational", "ate", 0)
		}
		if ends(w, "tional") {
			return swap(w, "tional", "tion", 0)
		}
	case 'c':
		if ends(w, "enci") {
			return swap(w, "enci", "ence", 0)
		}
		if ends(w, "anci") {
			return swap(w, "anci", "ance", 0)
		}
	case 'e':
		if ends(w, "izer") {
			return swap(w, "izer", "ize", 0)
		}
	case 'l':
		for _, s := range [...][2]string{{"bli", "ble"}, {"alli", "al"}, {"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"}} {
			if ends(w, s[0]) {
				return swap(w, s[0], s[1], 0)
			}
		}
	case 'o':
		for _, s := range [...][2]string{{"ization", "ize"}, {"ation", "ate"}, {"ator", "ate"}} {
			if ends(w, s[0]) {
				return swap(w, s[0], s[1], 0)
			}
		}
	case 's':
		for _, s := range [...][2]string{{"alism", "al"}, {"iveness", "ive"}, {"fulness", "ful"}, {"ousness", "ous"}} {
			if ends(w, s[0]) {
				return swap(w, s[0], s[1], 0)
			}
		}
	case 't':
		for _, s := range [...][2]string{{"aliti", "al"}, {"iviti", "ive"}, {"biliti", "ble"}} {
			if ends(w, s[0]) {
				return swap(w, s[0], s[1], 0)
			}
		}
	case 'g':
		if ends(w, "logi") {
			return swap(w, "logi", "log", 0)
		}
	}
	return w
}

// stemSingle is step 3.
func stemSingle(w []byte) []byte {
	for _, s := range [...][2]string{{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""}} {
		if ends(w, s[0]) {
			return swap(w, s[0], s[1], 0)
		}
	}
	return w
}

// stemRest is step 4: what is left of suffixes goes after a long stem.
func stemRest(w []byte) []byte {
	for _, s := range [...]string{"al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent",
		"ou", "ism", "ate", "iti", "ous", "ive", "ize"} {
		if ends(w, s) {
			return swap(w, s, "", 1)
		}
	}
	if ends(w, "ion") {
		if base := w[:len(w)-3]; ends(base, "s") || ends(base, "t") {
			return swap(w, "ion", "", 1)
		}
	}
	return w
}

// stemFinal is step 5: a final e, and a final double l.
func stemFinal(w []byte) []byte {
	if ends(w, "e") {
		base := w[:len(w)-1]
		if m := measure(base); m > 1 || (m == 1 && !short(base)) {
			w = base
		}
	}
	if ends(w, "ll") && measure(w) > 1 {
		w = w[:len(w)-1]
	}
	return w
}
