package storage_test

func writerChild([]string) error { return nil }
func holderChild([]string) error { return nil }
func readerChild([]string) error { return nil }
func fullChild([]string) error { return nil }
func deniedChild([]string) error { return nil }
