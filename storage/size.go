package storage

import "fmt"

// Size returns how many bytes store.db has. Blobs of more than 4 KiB lie beside
// it.
func (s *Store) Size() (int64, error) {
	info, err := s.root.Stat(dataFile)
	if err != nil {
		return 0, fmt.Errorf("size: %w", err)
	}
	return info.Size(), nil
}
