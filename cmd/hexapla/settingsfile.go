package main

import (
	"path/filepath"
	"runtime"
)

// settingsFile is the user's file of limits: HEXAPLA_SETTINGS, else hexapla.yaml in
// the user's folder of settings by the convention of the operating system; "" where
// there is no such folder.
func settingsFile(p program) string {
	const name = "hexapla.yaml"
	if path := p.getenv("HEXAPLA_SETTINGS"); path != "" {
		if path, err := filepath.Abs(path); err == nil {
			return path
		}
		return ""
	}
	switch runtime.GOOS {
	case "windows":
		if roaming := p.getenv("AppData"); roaming != "" {
			return filepath.Join(roaming, "hexapla", name)
		}
		return ""
	case "darwin":
	default: // XDG: a relative value is invalid and must be ignored
		if xdg := p.getenv("XDG_CONFIG_HOME"); filepath.IsAbs(xdg) {
			return filepath.Join(xdg, "hexapla", name)
		}
	}
	home, err := p.home()
	if err != nil {
		return ""
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "hexapla", name)
	}
	return filepath.Join(home, ".config", "hexapla", name)
}
