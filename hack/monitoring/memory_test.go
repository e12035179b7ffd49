// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// memory evaluates queries on time series in memory, with the engine of Prometheus.
type memory struct {
	engine *promql.Engine
	series map[string]*series
}

// series has the samples of a time series, sorted by time.
type series struct {
	labels  labels.Labels
	samples []chunks.Sample
}

// last returns the last sample.
func (s *series) last() chunks.Sample { return s.samples[len(s.samples)-1] }

// sample is a value at a time. It implements chunks.Sample.
type sample struct {
	at    int64
	value float64
}

func (s sample) T() int64                      { return s.at }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

func newMemory(t *testing.T) *memory {
	t.Helper()
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute})
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return &memory{engine: engine, series: map[string]*series{}}
}

// add adds a sample.
func (p *memory) add(l labels.Labels, at time.Time, v float64) {
	key := l.String()
	s := p.series[key]
	if s == nil {
		s = &series{labels: l}
		p.series[key] = s
	}
	s.samples = append(s.samples, sample{at.UnixMilli(), v})
}

// scrape adds the samples of a scrape, with the labels of the target. Series of the last scrape that are missing end,
// as in Prometheus.
func (p *memory) scrape(t *testing.T, page []byte, contentType string, at time.Time, target ...labels.Label) {
	t.Helper()
	reader, err := textparse.New(page, contentType, labels.NewSymbolTable(), textparse.ParserOptions{FallbackContentType: "text/plain"})
	if err != nil {
		t.Fatal(err)
	}
	for {
		entry, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var l labels.Labels
		reader.Labels(&l)
		_, _, v := reader.Series()
		b := labels.NewBuilder(l)
		for _, of := range target {
			b.Set(of.Name, of.Value)
		}
		p.add(b.Labels(), at, v)
	}
	for _, s := range p.series {
		if last := s.last(); last.T() < at.UnixMilli() && !value.IsStaleNaN(last.F()) {
			p.add(s.labels, at, math.Float64frombits(value.StaleNaN))
		}
	}
}

// load adds series in the notation of promtool, such as `up{job="a"} 0+1x5`, with a sample every interval.
func (p *memory) load(t *testing.T, from time.Time, interval time.Duration, notations ...string) {
	t.Helper()
	for _, text := range notations {
		l, values, err := parser.ParseSeriesDesc(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for i, v := range values {
			if !v.Omitted {
				p.add(l, from.Add(time.Duration(i)*interval), v.Value)
			}
		}
	}
}

// query evaluates a query at a time.
func (p *memory) query(t *testing.T, expr string, at time.Time) promql.Vector {
	t.Helper()
	mock := &storage.MockQueryable{MockQuerier: &storage.MockQuerier{SelectMockFunction: p.selected}}
	q, err := p.engine.NewInstantQuery(t.Context(), mock, nil, expr, at)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	defer q.Close()
	result, err := q.Exec(t.Context()).Vector()
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return slices.Clone(result)
}

// selected returns the series that match.
func (p *memory) selected(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &seriesSet{}
	for _, key := range slices.Sorted(maps.Keys(p.series)) {
		s := p.series[key]
		if slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.labels.Get(m.Name)) }) {
			continue
		}
		found.left = append(found.left, storage.NewListSeries(s.labels, s.samples))
	}
	return found
}

// seriesSet is a list of series. It implements storage.SeriesSet.
type seriesSet struct {
	now  storage.Series
	left []storage.Series
}

func (s *seriesSet) Next() bool {
	if len(s.left) == 0 {
		return false
	}
	s.now, s.left = s.left[0], s.left[1:]
	return true
}

func (s *seriesSet) At() storage.Series                { return s.now }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// labelsOf returns the names of the labels of each metric.
func (p *memory) labelsOf() map[string][]string {
	names := map[string][]string{}
	for _, s := range p.series {
		metric := s.labels.Get(model.MetricNameLabel)
		s.labels.Range(func(l labels.Label) {
			if l.Name != model.MetricNameLabel && !slices.Contains(names[metric], l.Name) {
				names[metric] = append(names[metric], l.Name)
			}
		})
		if _, known := names[metric]; !known {
			names[metric] = nil
		}
	}
	return names
}
