package main

import (
	"fmt"
	"math"
	"strings"
)

// A chart of a sweep: cost from left to right, reach from bottom to top.
const (
	chartWidth, chartHeight = 860, 520
	chartLeft, chartRight   = 70, 190
	chartTop, chartBottom   = 56, 60
)

// sweepChart draws the settings of a sweep as SVG: each with what it costs and
// how much of what the next tool call needed it holds.
func sweepChart(results []sweepResult) string {
	lowX, highX, lowY := math.Inf(1), math.Inf(-1), 1.0
	for _, s := range results {
		x, _ := s.shares()
		lowX, highX = min(lowX, x), max(highX, x)
		lowY = min(lowY, s.totals.needs.paths.share(), s.totals.needs.identifiers.share())
	}
	lowX, highX = math.Floor(lowX*20)/20, math.Ceil(highX*20)/20
	lowY = math.Floor(lowY*50) / 50
	if highX == lowX {
		highX += 0.05
	}
	if lowY == 1 {
		lowY = 0.98
	}
	xOf := func(v float64) float64 {
		return chartLeft + (v-lowX)/(highX-lowX)*(chartWidth-chartLeft-chartRight)
	}
	yOf := func(v float64) float64 {
		return chartHeight - chartBottom - (v-lowY)/(1-lowY)*(chartHeight-chartTop-chartBottom)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", chartWidth, chartHeight)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", chartWidth, chartHeight)
	fmt.Fprintf(&b, `<text x="%d" y="24" font-size="15">What packs cost, and what of the next tool call they hold</text>`+"\n", chartLeft)
	fmt.Fprintf(&b, `<text x="%d" y="42" fill="#555">each setting replayed over the same sessions; up and left is better</text>`+"\n", chartLeft)
	const steps = 5
	for i := range steps + 1 {
		v := lowY + (1-lowY)*float64(i)/steps
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#e5e5e5"/><text x="%d" y="%.1f" text-anchor="end" fill="#555">%.1f %%</text>`+"\n",
			chartLeft, yOf(v), chartWidth-chartRight, chartLeft-8, yOf(v)+4, 100*v)
		x := lowX + (highX-lowX)*float64(i)/steps
		fmt.Fprintf(&b, `<path d="M%.1f %dV%d" stroke="#e5e5e5"/><text x="%.1f" y="%d" text-anchor="middle" fill="#555">%.1f %%</text>`+"\n",
			xOf(x), chartTop, chartHeight-chartBottom, xOf(x), chartHeight-chartBottom+18, 100*x)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#555">billed input, share of the full history with caching (history alone)</text>`+"\n", chartLeft, chartHeight-16)
	legend := chartWidth - chartRight + 16
	fmt.Fprintf(&b, `<circle cx="%d" cy="70" r="5" fill="#0b6e99"/><text x="%d" y="74">paths</text>`+"\n", legend, legend+12)
	fmt.Fprintf(&b, `<rect x="%d" y="87" width="9" height="9" fill="#d9730d"/><text x="%d" y="96">identifiers</text>`+"\n", legend-4, legend+12)
	for i, s := range results {
		x, _ := s.shares()
		paths, ids := yOf(s.totals.needs.paths.share()), yOf(s.totals.needs.identifiers.share())
		stroke := "none"
		if i == 0 {
			stroke = "#000"
		}
		fmt.Fprintf(&b, `<g><title>%s</title><path d="M%.1f %.1fV%.1f" stroke="#ccc"/>`, s.name(), xOf(x), paths, ids)
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="5" fill="#0b6e99" stroke="%s" stroke-width="2"/>`, xOf(x), paths, stroke)
		fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="9" height="9" fill="#d9730d" stroke="%s" stroke-width="2"/>`, xOf(x)-4.5, ids-4.5, stroke)
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" font-size="9" fill="#333">%d</text></g>`+"\n", xOf(x)+6, ids+11, i+1)
		fmt.Fprintf(&b, `<text x="%d" y="%d" font-size="11" fill="#333">%d  %s</text>`+"\n", legend-4, 122+17*i, i+1, s.name())
	}
	b.WriteString("</svg>\n")
	return b.String()
}
