package terms

// isStop tells English function words, which say nothing about a topic.
func isStop(w []byte) bool {
	if len(w) > 10 {
		return false
	}
	switch string(w) {
	case "a", "about", "above", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at",
		"be", "because", "been", "before", "being", "below", "between", "both", "but", "by",
		"can", "could", "did", "do", "does", "doing", "done", "down", "during",
		"each", "etc", "ever", "few", "for", "from", "further",
		"get", "gets", "getting", "go", "goes", "going", "got",
		"had", "has", "have", "having", "he", "her", "here", "hers", "herself", "him", "himself", "his", "how",
		"i", "if", "in", "into", "is", "it", "its", "itself", "just",
		"let", "like", "made", "make", "many", "may", "me", "might", "more", "most", "much", "must", "my", "myself",
		"no", "nor", "not", "now", "of", "off", "oh", "ok", "okay", "on", "once", "only", "or", "other", "our", "ours",
		"ourselves", "out", "over", "own", "please",
		"really", "same", "shall", "she", "should", "so", "some", "such",
		"than", "that", "the", "their", "theirs", "them", "themselves", "then", "there", "these", "they", "this",
		"those", "through", "to", "too", "under", "until", "up", "upon", "us", "very",
		"was", "we", "well", "were", "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will",
		"with", "within", "without", "would", "yes", "yet", "you", "your", "yours", "yourself", "yourselves":
		return true
	}
	return false
}
