package main

import "path/filepath"

// modelCaches returns the folders where programs keep models that they fetched:
// those of the Hugging Face hub and of sentence-transformers. They are looked
// into and never written to.
func modelCaches(p program) []string {
	var caches []string
	add := func(parts ...string) {
		if filepath.IsAbs(parts[0]) {
			caches = append(caches, filepath.Join(parts...))
		}
	}
	add(p.getenv("SENTENCE_TRANSFORMERS_HOME"))
	add(p.getenv("HF_HUB_CACHE"))
	add(p.getenv("HF_HOME"), "hub")
	if cache := p.getenv("XDG_CACHE_HOME"); cache != "" {
		add(cache, "huggingface", "hub")
	}
	if home, err := p.home(); err == nil {
		add(home, ".cache", "huggingface", "hub")
		add(home, ".cache", "torch", "sentence_transformers")
	}
	return caches
}
