// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package browser_test

import (
	"fmt"
	"slices"
)

// listedKeys are the keys of the Services in the list, from top to bottom.
const listedKeys = `[...document.querySelectorAll('#services [role=option]')].map(o => o.id.replace('service-', ''))`

// requireListed fails the test unless the list begins with the Services.
func (b *tab) requireListed(want ...string) {
	b.t.Helper()
	if got := eval[[]string](b, listedKeys); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		b.t.Errorf("the list begins with %q, want %q", got[:min(len(got), len(want))], want)
	}
}

// misfits are what is wrong with the layout: a page that must be moved sideways, parts of a row of the list that are
// outside of it or overlap, and graphs that are drawn larger than they are or whose texts leave their boxes.
const misfits = `(() => {
	const wrong = [];
	const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1;
	if (document.documentElement.scrollWidth > innerWidth) wrong.push('the page is ' + document.documentElement.scrollWidth + ' wide');
	for (const row of document.querySelectorAll('#services [role=option], .top')) {
		const box = row.getBoundingClientRect();
		const parts = [...row.children].filter(p => p.getClientRects().length);
		for (const part of parts) if (!inside(part.getBoundingClientRect(), box)) wrong.push('outside of its row: ' + part.className + ' ' + part.textContent);
		for (const [i, part] of parts.entries()) for (const other of parts.slice(i + 1)) {
			const [a, b] = [part.getBoundingClientRect(), other.getBoundingClientRect()];
			if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1) wrong.push(part.textContent + ' overlaps ' + other.textContent);
		}
	}
	const shown = e => e.checkVisibility({ contentVisibilityAuto: true }); // others have the layout of an earlier size
	for (const graph of [...document.querySelectorAll('svg.graph')].filter(shown)) {
		const { width, height } = graph.getBoundingClientRect();
		if (width > +graph.getAttribute('width') + 1 || height > +graph.getAttribute('height') + 1) wrong.push('a graph is ' + width + ' by ' + height);
	}
	for (const text of [...document.querySelectorAll('.graph .node text')].filter(shown)) {
		const box = text.parentElement.querySelector('.box').getBoundingClientRect();
		if (!inside(text.getBoundingClientRect(), box)) wrong.push('outside of its box: ' + text.textContent);
	}
	for (const part of document.querySelectorAll('main > *, .card, .group, .problems')) {
		if (part.scrollWidth > part.clientWidth + 1 && getComputedStyle(part).overflowX === 'visible') wrong.push('it does not fit into ' + part.className);
	}
	return wrong;
})()`

// requireFits fails the test if something does not fit, on screens of all sizes.
func (b *tab) requireFits() {
	b.t.Helper()
	for _, size := range [][2]int64{{1920, 1080}, {1024, 700}, {390, 844}, {320, 640}, {1280, 800}} {
		b.resize(size[0], size[1])
		b.eventually(func() error { // the page is laid out again
			if wrong := eval[[]string](b, misfits); len(wrong) > 0 {
				return fmt.Errorf("%d by %d: %d times, such as %q", size[0], size[1], len(wrong), wrong[:min(len(wrong), 3)])
			}
			return nil
		})
	}
}

// faint are the texts whose contrast with what is behind them is below 4.5, and state icons below 3, by WCAG 2.2, AA.
const faint = `(() => {
	const channels = color => color.match(/[\d.]+/g).map(Number);
	const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
		.reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
	const behind = element => {
		const box = element.closest('.node')?.querySelector('.box');
		if (box) return channels(getComputedStyle(box).fill);
		for (let e = element; e; e = e.parentElement) {
			const color = channels(getComputedStyle(e).backgroundColor);
			if (color.length === 3 || color[3] > 0) return color;
		}
		return [255, 255, 255];
	};
	const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
	const wrong = new Set();
	for (const e of document.querySelectorAll('body *')) {
		const icon = e.matches('.icon .frame');
		const text = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) && !e.closest('title, .unseen, noscript');
		if (!icon && !text || !e.getClientRects().length) continue;
		const style = getComputedStyle(e);
		const color = channels(e.namespaceURI.endsWith('svg') ? style.fill : style.color);
		const found = ratio(color, behind(e));
		if (found < (icon ? 3 : 4.5)) wrong.add((icon ? 'icon ' + e.parentElement.classList : e.className.baseVal ?? e.className) + ' ' + found.toFixed(2) + ' ' + e.textContent.slice(0, 40));
	}
	return [...wrong];
})()`

// requireContrast fails the test if something can hardly be read in light or dark colours.
func (b *tab) requireContrast() {
	b.t.Helper()
	for _, scheme := range []string{"dark", "light"} {
		b.prefer(scheme)
		b.waitFor(fmt.Sprintf(`matchMedia('(prefers-color-scheme: %s)').matches`, scheme))
		if wrong := eval[[]string](b, faint); len(wrong) > 0 {
			b.t.Errorf("%s: too little contrast: %q", scheme, wrong)
		}
	}
}

// requireStatesInWords fails the test if an icon alone shows a state: not every user can tell its colour and shape.
func (b *tab) requireStatesInWords() {
	b.t.Helper()
	const alone = `[...document.querySelectorAll('#services [role=option], .badge, .timeline li')]
		.filter(e => !/Failed|Warning|Pending|Unknown|OK|Not monitored/.test(e.textContent)).map(e => e.textContent)`
	if wrong := eval[[]string](b, alone); len(wrong) > 0 {
		b.t.Errorf("no word for the state: %q", wrong)
	}
	const unnamed = `[...document.querySelectorAll('.node, button, input')].filter(e => !(e.getAttribute('aria-label') || e.textContent).trim()).map(e => e.outerHTML)`
	if wrong := eval[[]string](b, unnamed); len(wrong) > 0 {
		b.t.Errorf("screen readers have no name for %q", wrong)
	}
}
