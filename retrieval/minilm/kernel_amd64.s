#include "textflag.h"

// STEP adds one row's number times the line in Y12 and Y13 to two sums. Product
// and sum are rounded apart, as the plain kernel does.
#define STEP(from, left, right) \
	VBROADCASTSS from, Y14      \
	VMULPS Y12, Y14, Y15        \
	VADDPS Y15, left, left      \
	VMULPS Y13, Y14, Y14        \
	VADDPS Y14, right, right

// func panelAVX2(x, w, bias, y *float32, k, xStride, yStride int)
TEXT ·panelAVX2(SB), NOSPLIT, $0-56
	MOVQ x+0(FP), SI
	MOVQ w+8(FP), DI
	MOVQ bias+16(FP), AX
	MOVQ y+24(FP), DX
	MOVQ k+32(FP), CX
	MOVQ xStride+40(FP), R8
	MOVQ yStride+48(FP), R10
	SHLQ $2, R8
	SHLQ $2, R10
	LEAQ (SI)(R8*2), R9
	ADDQ R8, R9             // the fourth row

	VMOVUPS (AX), Y0
	VMOVUPS 32(AX), Y1
	VMOVAPS Y0, Y2
	VMOVAPS Y1, Y3
	VMOVAPS Y0, Y4
	VMOVAPS Y1, Y5
	VMOVAPS Y0, Y6
	VMOVAPS Y1, Y7
	VMOVAPS Y0, Y8
	VMOVAPS Y1, Y9
	VMOVAPS Y0, Y10
	VMOVAPS Y1, Y11

loop:
	VMOVUPS (DI), Y12
	VMOVUPS 32(DI), Y13
	STEP((SI), Y0, Y1)
	STEP((SI)(R8*1), Y2, Y3)
	STEP((SI)(R8*2), Y4, Y5)
	STEP((R9), Y6, Y7)
	STEP((R9)(R8*1), Y8, Y9)
	STEP((R9)(R8*2), Y10, Y11)
	ADDQ $4, SI
	ADDQ $4, R9
	ADDQ $64, DI
	DECQ CX
	JNZ  loop

	VMOVUPS Y0, (DX)
	VMOVUPS Y1, 32(DX)
	ADDQ R10, DX
	VMOVUPS Y2, (DX)
	VMOVUPS Y3, 32(DX)
	ADDQ R10, DX
	VMOVUPS Y4, (DX)
	VMOVUPS Y5, 32(DX)
	ADDQ R10, DX
	VMOVUPS Y6, (DX)
	VMOVUPS Y7, 32(DX)
	ADDQ R10, DX
	VMOVUPS Y8, (DX)
	VMOVUPS Y9, 32(DX)
	ADDQ R10, DX
	VMOVUPS Y10, (DX)
	VMOVUPS Y11, 32(DX)
	VZEROUPPER
	RET
