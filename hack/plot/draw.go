// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// draw writes the chart as an SVG file.
func (c *chart) draw(path string) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.title, "Services", c.unit
	p.X.Min, p.Y.Min = 0, 0
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	for i, l := range c.lines {
		points := make(plotter.XYs, len(l.points))
		for j, at := range l.points {
			points[j].X, points[j].Y = at.x, at.y
		}
		drawn, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		drawn.Color, marks.Color = plotutil.Color(i), plotutil.Color(i)
		drawn.Dashes, marks.Shape = plotutil.Dashes(i), plotutil.Shape(i)
		p.Add(drawn, marks)
		p.Legend.Add(l.name, drawn, marks)
	}
	// Leave space for the legend above the lines.
	p.Y.Max *= 1.3
	return p.Save(14*vg.Centimeter, 9*vg.Centimeter, path)
}
