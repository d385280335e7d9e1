package minilm

// A panel is panelColumns columns of a matrix, row by row, so that one step of
// a product reads one line of it. Rows go through the kernel blockRows at once.
const (
	panelColumns = 16
	blockRows    = 6
)

// kernel computes blockRows rows of panelColumns sums:
//
//	y[r·yStride+c] = bias[c] + x[r·xStride]·w[c] + x[r·xStride+1]·w[panelColumns+c] + …
//
// k terms, added in that order, each product and each sum rounded to float32.
// Strides are in numbers.
type kernel func(x, w, bias, y []float32, k, xStride, yStride int)

// plainKernel is the kernel in Go. The conversion of the product keeps the
// compiler from fusing it with the sum, which would round differently.
func plainKernel(x, w, bias, y []float32, k, xStride, yStride int) {
	for r := range blockRows {
		row := x[r*xStride:][:k]
		var sums [panelColumns]float32
		copy(sums[:], bias[:panelColumns])
		for i, factor := range row {
			line := (*[panelColumns]float32)(w[i*panelColumns:])
			for c := range sums {
				sums[c] += float32(factor * line[c])
			}
		}
		copy(y[r*yStride:], sums[:])
	}
}

// pack brings rows·columns numbers into panels. at tells the number of a row and
// column of the product's right side; columns are filled up with zeros.
func pack(rows, columns int, at func(row, column int) float32) []float32 {
	panels := (columns + panelColumns - 1) / panelColumns
	out := make([]float32, panels*rows*panelColumns)
	for p := range panels {
		for r := range rows {
			for c := range min(panelColumns, columns-p*panelColumns) {
				out[(p*rows+r)*panelColumns+c] = at(r, p*panelColumns+c)
			}
		}
	}
	return out
}

// multiply gives y = x·w + bias for n rows; x and y have room for n rounded up to
// blockRows rows. There are as many panels as columns of bias ask for.
func multiply(k kernel, x, w, bias, y []float32, n, inputs, xStride, yStride int) {
	for p := 0; p*panelColumns < len(bias); p++ {
		panel := w[p*inputs*panelColumns:][:inputs*panelColumns]
		for r := 0; r < n; r += blockRows {
			k(x[r*xStride:], panel, bias[p*panelColumns:], y[r*yStride+p*panelColumns:], inputs, xStride, yStride)
		}
	}
}
