package retrieval

import (
	"encoding/binary"
	"hash/crc32"
)

// ReadTables decodes content as each of the stored tables, with the version and
// the sum that it must have, and tells whether it was taken for one.
func ReadTables(content []byte) (frequencies, marks bool) {
	b := append([]byte{tableVersion}, content...)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	_, frequencies = decodeTable(b)
	return frequencies, decodeMarks(b) != nil
}
