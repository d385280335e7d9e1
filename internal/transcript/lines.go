package transcript

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine is the longest line that is read, bytes. Lines with images reach
// tens of MiB; a longer one is left out.
const maxLine = 256 << 20

// lines reads a file line by line, whatever ends the lines.
type lines struct {
	in     *bufio.Reader
	number int    // of the line read last, from 1
	buffer []byte // reused
}

// next returns the next line without its end. torn tells that no line end
// followed; long that the line was over the limit and is not returned. At the
// end err is io.EOF. The bytes are valid until the next call.
func (l *lines) next() (line []byte, torn, long bool, err error) {
	l.buffer = l.buffer[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		if !long {
			l.buffer = append(l.buffer, part...)
			long = len(l.buffer) > maxLine
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil, errors.Is(err, io.EOF) && (len(l.buffer) > 0 || long):
			l.number++
			if long {
				l.buffer = nil
				return nil, false, true, nil
			}
			line = bytes.TrimRight(l.buffer, "\r\n")
			if l.number == 1 {
				line = bytes.TrimPrefix(line, []byte("\ufeff"))
			}
			return line, err != nil, false, nil
		default:
			return nil, false, false, err
		}
	}
}
