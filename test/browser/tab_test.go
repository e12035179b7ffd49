// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/kube-octavia/kube-octavia/internal/operate/topology"
)

// tab is a page in the browser.
type tab struct {
	*world
	context context.Context
	mu      sync.Mutex
	// complaints are errors of the console, exceptions and requests to other servers.
	complaints []string
}

// open starts a browser and opens the page.
func (w *world) open() *tab {
	w.t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(w.t)), chromedp.UserDataDir(w.t.TempDir()), chromedp.NoFirstRun, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("no-proxy-server", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.WindowSize(1280, 800))
	allocator, freeAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeTab := chromedp.NewContext(allocator)
	tab := &tab{world: w, context: ctx}
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("the page: %s", tab.text("body"))
		}
		closeTab()
		freeAllocator()
	})
	if err := chromedp.Listen(ctx, tab.listen); err != nil { // which starts the browser
		w.t.Fatal(err)
	}
	call(tab, log.Enable, cdp.Empty{})
	call(tab, network.Enable, network.EnableParams{})
	tab.prefer("light")
	tab.resize(1280, 800)
	tab.do(chromedp.Navigate(w.url))
	return tab
}

// listen records errors of the page and requests to other servers.
func (b *tab) listen(event any) {
	complaint := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		complaint = "exception: " + e.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			complaint = fmt.Sprintf("console.%s: %s", e.Type, e.Args[0].Value)
		}
	case *log.EventEntryAdded:
		complaint = fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
	case *network.EventRequestWillBeSent:
		if len(e.Request.URL) < len(b.url) || e.Request.URL[:len(b.url)] != b.url {
			complaint = "a request to another server: " + e.Request.URL
		}
	}
	if complaint != "" {
		b.mu.Lock()
		b.complaints = append(b.complaints, complaint)
		b.mu.Unlock()
	}
}

// requireNoComplaints fails the test if the console shows an error, or anything was loaded from elsewhere.
func (b *tab) requireNoComplaints() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		b.t.Error(c)
	}
}

// do acts in the page.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.context, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// call gives the browser a command.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.context, command, params); err != nil {
		b.t.Fatal(err)
	}
}

// press presses keys that are no characters, or "/", one after the other.
func (b *tab) press(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		if k != "/" {
			b.do(chromedp.KeyEvent(k))
			continue
		}
		// KeyEvent would type the character even if the page has another use for the key.
		key := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Text: k, Key: k, Code: "Slash"}
		call(b, input.DispatchKeyEvent, key)
		key.Type, key.Text = input.DispatchKeyEventTypeKeyUp, ""
		call(b, input.DispatchKeyEvent, key)
	}
}

// write writes a text where the focus is.
func (b *tab) write(text string) {
	b.t.Helper()
	call(b, input.InsertText, input.InsertTextParams{Text: text})
}

// click clicks on the first element.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector)))
}

// eval returns the value of an expression of JavaScript.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.context, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// text returns the visible text of an element, or "".
func (b *tab) text(selector string) string {
	text, err := chromedp.Run(b.context, chromedp.Evaluate[string](fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector)))
	if err != nil {
		return err.Error()
	}
	return text
}

// waitFor waits until the expression is true.
func (b *tab) waitFor(expression string) {
	b.t.Helper()
	b.eventually(func() error {
		if !eval[bool](b, expression) {
			return fmt.Errorf("%s is false", expression)
		}
		return nil
	})
}

// resize changes the size of the window.
func (b *tab) resize(width, height int64) {
	b.t.Helper()
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1})
}

// prefer sets the colours that the user prefers.
func (b *tab) prefer(scheme string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// screenshot writes what the window shows, if they were requested.
func (b *tab) screenshot(name string) {
	b.t.Helper()
	if *screenshots == "" {
		return
	}
	png, err := chromedp.Run(b.context, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*screenshots, "ui-"+name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// services returns those that the server shows.
func (w *world) services() map[string]topology.Service {
	w.t.Helper()
	transport := &http.Transport{Proxy: nil, DisableKeepAlives: true}
	answer, err := (&http.Client{Transport: transport, Timeout: deadline}).Get(w.url + "topology")
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	var change struct{ Services []topology.Service }
	if err := json.NewDecoder(answer.Body).Decode(&change); err != nil {
		w.t.Fatal(err)
	}
	all := map[string]topology.Service{}
	for _, s := range change.Services {
		all[s.Key] = s
	}
	return all
}
