package minilm

import "golang.org/x/sys/cpu"

// fastKernel returns the quickest kernel of this machine, and whether it is a
// vectorised one.
func fastKernel() (kernel, bool) {
	if cpu.X86.HasAVX2 {
		return vectorKernel, true
	}
	return plainKernel, false
}

// vectorKernel is plainKernel with eight lanes.
func vectorKernel(x, w, bias, y []float32, k, xStride, yStride int) {
	if k <= 0 {
		plainKernel(x, w, bias, y, 0, xStride, yStride)
		return
	}
	// What the assembly reads and writes is within the slices.
	_ = x[(blockRows-1)*xStride+k-1]
	_ = w[k*panelColumns-1]
	_ = bias[panelColumns-1]
	_ = y[(blockRows-1)*yStride+panelColumns-1]
	panelAVX2(&x[0], &w[0], &bias[0], &y[0], k, xStride, yStride)
}

//go:noescape
func panelAVX2(x, w, bias, y *float32, k, xStride, yStride int)
