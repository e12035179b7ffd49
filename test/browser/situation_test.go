// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package browser_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia"
)

// states returns an expression that is true if so many Services of the list are failed, and so on.
func states(failed, warning, pending, ok int) string {
	return fmt.Sprintf(`['failed', 'warning', 'pending', 'ok'].map(s => document.querySelectorAll('#services .icon.' + s).length).join() === '%d,%d,%d,%d'`,
		failed, warning, pending, ok)
}

// has returns an expression that is true if the element shows the text.
func has(selector, text string) string {
	return fmt.Sprintf(`(document.querySelector(%q)?.innerText ?? '').includes(%q)`, selector, text)
}

func TestOneServiceIsShownCompletely(t *testing.T) {
	chromium(t)
	w := newWorld(t)
	w.addServices(name{"shop", "checkout"})
	w.waitUntilProgrammed()
	w.report(w.readMembers(1)["shop/checkout"], 0)
	tab := w.open()
	tab.waitFor(states(0, 0, 0, 1))
	tab.requireFits()
	tab.screenshot("1-service")
	tab.requireContrast()
	tab.requireStatesInWords()
	tab.requireNoComplaints()
}

func TestAServiceWithoutALoadBalancerDoesNotFillThePage(t *testing.T) {
	chromium(t)
	w := newWorld(t)
	w.limitLoadBalancers(0)
	w.addServices(name{"shop", "checkout"})
	tab := w.open()
	tab.waitFor(states(1, 0, 0, 0) + " && " + has("#services", "QuotaExceeded") + " && " + has(".overview .why", "QuotaExceeded"))
	tab.requireFits()
	if height := eval[int](tab, `document.querySelector('.overview .graph').getBoundingClientRect().height`); height > 100 {
		t.Errorf("its graph is %d high", height)
	}
	tab.click("#services [role=option]")
	tab.waitFor(has(".reasons", "QuotaExceeded"))
	tab.requireFits()
	tab.requireNoComplaints()
}

// limitLoadBalancers sets the quota of load balancers.
func (w *world) limitLoadBalancers(most int) {
	w.cloud.Octavia().SetQuota(w.cloud.IDs().Project, octavia.Quota{LoadBalancers: most, Listeners: -1, Pools: -1, Members: -1, HealthMonitors: -1})
}

func TestTwentyServicesAreSortedSearchedAndSharedByTheURL(t *testing.T) {
	chromium(t)
	w := newWorld(t)
	names := many(20)
	w.addAnnotatedServices(map[string]string{"loadbalancer.openstack.org/enable-health-monitor": "false"}, names[19])
	w.addServices(names[:19]...)
	w.waitUntilProgrammed()
	all := w.readMembers(20)
	for key, s := range all {
		if key != names[19].String() {
			w.report(s, 0)
		}
	}
	tab := w.open()
	tab.waitFor(states(0, 0, 0, 20))
	w.report(all["shop/checkout"], 3)
	w.report(all["payments/api"], 1)
	tab.waitFor(states(1, 1, 0, 18))
	tab.requireListed("shop/checkout", "payments/api", "accounts/api")

	tab.reasonIsShownAndFound()
	tab.unmonitoredMembersAreNotSaidToServe(names[19].String())
	tab.timelineShowsWhatChanged()
	tab.requireFits()
	tab.requireContrast()
	tab.requireStatesInWords()
	eval[chromedp.Void](tab, `document.querySelector('#services').scrollTop = 0; document.activeElement.blur()`)
	tab.screenshot("20-services")
	tab.prefer("dark")
	tab.screenshot("dark")
	tab.prefer("light")
	tab.urlKeepsWhatIsShown()
	tab.fitsAPhone()
	tab.requireNoComplaints()
}

// reasonIsShownAndFound checks that the list says why a Service fails, and that the search finds it by that.
func (b *tab) reasonIsShownAndFound() {
	b.t.Helper()
	b.waitFor(has("#services [role=option] .reason", "All 3 members of port 443/TCP are down."))
	b.press("/")
	b.write("SomeMembersDown port 443/tcp")
	b.waitFor(listed + ` === 1`)
	b.requireListed("payments/api")
	b.press(kb.Escape)
	b.waitFor(listed + ` === 20`)
}

// unmonitoredMembersAreNotSaidToServe checks the display of a Service without a health monitor.
func (b *tab) unmonitoredMembersAreNotSaidToServe(key string) {
	b.t.Helper()
	b.click(".filter.unmonitored")
	b.waitFor(listed + ` === 1 && ` + has("#services", "OK, not monitored") + ` && ` + has(".overview .group", "not monitored"))
	b.requireListed(key)
	if eval[bool](b, has(".overview", "all serve")) {
		b.t.Errorf("no health monitor checks the members, but the overview says that all serve: %s", b.text(".overview"))
	}
	b.click("#services [role=option]")
	b.waitFor(has(".note", "No health monitor checks the members of ") + ` && document.querySelectorAll('.canvas .node.unmonitored').length > 0`)
	b.requireContrast()
	b.press(kb.Escape)
	b.click(".filter.all")
	b.waitFor(listed + ` === 20`)
}

// timelineShowsWhatChanged checks the timeline of all Services, and of one.
func (b *tab) timelineShowsWhatChanged() {
	b.t.Helper()
	b.waitFor(`document.querySelector('.changes') !== null`)
	b.click(".changes summary")
	b.waitFor(has(".changes", "shop/checkout") + ` && ` + has(".changes", "Failed, was ") + ` && ` + has(".changes", "payments/api"))
	eval[chromedp.Void](b, `[...document.querySelectorAll('.changes .link')].find(e => e.innerText === 'payments/api').click()`)
	b.waitFor(has("#details-heading", "api") + ` && ` + has(".card .timeline", "1 of 3 members of port 443/TCP is down: worker-1.") +
		` && !` + has(".card .timeline", "Failed"))
	b.press(kb.Escape)
	b.waitFor(`document.querySelector('.overview') !== null`)
}

// urlKeepsWhatIsShown checks that filter, search and Service are in the URL, for the back button, a reload and another
// user.
func (b *tab) urlKeepsWhatIsShown() {
	b.t.Helper()
	b.click(".filter.failed")
	b.waitFor(listed + ` === 1 && location.hash === '#state=failed'`)
	b.click("#services [role=option]")
	b.waitFor(has("#details-heading", "checkout") + ` && location.hash === '#service=shop/checkout&state=failed'`)
	eval[chromedp.Void](b, `history.back()`)
	b.waitFor(`document.querySelector('.overview') !== null && location.hash === '#state=failed' && ` + listed + ` === 1`)
	eval[chromedp.Void](b, `history.back()`)
	b.waitFor(listed + ` === 20 && location.hash === ''`)
	eval[chromedp.Void](b, `history.go(2)`)
	b.waitFor(has("#details-heading", "checkout") + ` && ` + listed + ` === 1`)
	b.do(chromedp.Reload())
	b.waitFor(has("#details-heading", "checkout") + ` && ` + listed + ` === 1 && document.querySelector('.filter.failed').ariaPressed === 'true'`)

	b.do(chromedp.Navigate("about:blank"))
	b.do(chromedp.Navigate(b.url + "#state=warning&search=payments"))
	b.waitFor(listed + ` === 1 && document.querySelector('#search').value === 'payments'`)
	b.requireListed("payments/api")
	b.press("/")
	b.write("catalogue")
	b.waitFor(listed + ` === 0 && location.hash === '#state=warning&search=catalogue'`)
	b.press(kb.Escape)
	b.waitFor(listed + ` === 1 && location.hash === '#state=warning'`)
	b.click(".filter.all")
	b.waitFor(listed + ` === 20`)
}

// fitsAPhone checks a narrow screen: the graph goes down instead of sideways, with lines that the arrows follow.
func (b *tab) fitsAPhone() {
	b.t.Helper()
	b.resize(390, 844)
	b.screenshot("phone")
	eval[chromedp.Void](b, `location.hash = 'service=shop/checkout'`)
	b.waitFor(has("#details-heading", "checkout") + ` && document.querySelectorAll('.canvas .node').length > 5`)
	if eval[bool](b, `(c => c.scrollWidth > c.clientWidth + 1)(document.querySelector('.canvas'))`) {
		b.t.Error("the graph has to be moved sideways")
	}
	b.screenshot("phone-service")
	eval[chromedp.Void](b, `document.querySelector('.canvas .node').focus()`)
	b.press(kb.ArrowDown, kb.ArrowRight, kb.ArrowRight)
	b.waitFor(`document.activeElement.getAttribute('aria-label').startsWith('Pool')`)
	b.press(kb.Escape)
	b.resize(1280, 800)
}

func TestAllServicesFail(t *testing.T) {
	chromium(t)
	w := newWorld(t)
	names := many(12)
	w.addServices(names[:8]...)
	w.waitUntilProgrammed()
	for _, s := range w.readMembers(8) {
		w.report(s, 3)
	}
	w.limitLoadBalancers(8)
	w.addServices(names[8:]...)
	tab := w.open()
	tab.waitFor(states(12, 0, 0, 0))
	tab.waitFor(`document.title.startsWith('12 failed')`)
	for _, reason := range []string{"All 3 members", "QuotaExceeded"} {
		if n := eval[int](tab, fmt.Sprintf(`[...document.querySelectorAll('.overview .why')].filter(e => e.innerText.includes(%q)).length`, reason)); n < 4 {
			t.Errorf("%q is said of %d Services", reason, n)
		}
	}
	tab.requireFits()
	tab.requireContrast()
	tab.requireStatesInWords()
	tab.screenshot("all-failing")
	eval[chromedp.Void](tab, `location.hash = 'shop/api'`)
	tab.waitFor(has(".reasons.failed", "All 3 members"))
	tab.requireFits()
	tab.requireContrast()
	tab.screenshot("light")
	tab.requireNoComplaints()
}

// long returns a name of as many characters as Kubernetes allows, without a place to break it.
func long(beginning string) string { return beginning + strings.Repeat("m", 63-len(beginning)) }

func TestLongNamesFit(t *testing.T) {
	chromium(t)
	w := newCluster(t, long("cluster-"), long("node-a-"), long("node-b-"))
	w.control()
	w.serve()
	names := []name{{long("team-"), long("api-")}, {long("team-"), long("web-")}, {"shop", "checkout"}}
	w.addServices(names...)
	w.waitUntilProgrammed()
	all := w.readMembers(3)
	w.report(all["shop/checkout"], 0)
	w.report(all[names[0].String()], 1)
	w.report(all[names[1].String()], 2)
	w.limitLoadBalancers(3)
	w.addServices(name{long("team-"), long("without-")})
	tab := w.open()
	tab.waitFor(states(2, 1, 0, 1))
	tab.requireFits()
	tab.screenshot("long-names")
	for _, key := range []string{names[0].String(), long("team-") + "/" + long("without-")} {
		eval[chromedp.Void](tab, fmt.Sprintf(`location.hash = %q`, key))
		tab.waitFor(fmt.Sprintf(`document.querySelector('#details-heading')?.innerText.includes(%q)`, strings.Split(key, "/")[1]))
		tab.requireFits()
	}
	tab.requireNoComplaints()
}

func TestOutageOfTheCloudIsShownWithTheAgeOfTheData(t *testing.T) {
	chromium(t)
	w := newCluster(t, "production", "worker-1", "worker-2", "worker-3")
	over := w.outage()
	w.control()
	w.serve()
	w.addServices(many(6)...)
	tab := w.open()
	tab.waitFor(listed + ` === 6 && ` + has(".problems", "OpenStack cannot be read") + ` && ` + has(".problems", "502") + ` && ` + has(".problems", "No load balancers were read yet.") + ` && ` + has(".status", "Not read yet"))
	tab.requireFits()
	tab.requireContrast()

	over()
	w.waitUntilProgrammed()
	tab.waitFor(`document.querySelector('.problems') === null && document.querySelectorAll('.overview .node').length > 20`)
	for _, s := range w.readMembers(6) {
		w.report(s, 0)
	}
	tab.waitFor(states(0, 0, 0, 6) + ` && ` + has(".status", "Live"))

	over = w.outage()
	tab.waitFor(has(".problems", "OpenStack cannot be read since") + ` && ` + has(".problems", "502") + ` && ` + has(".problems", "Shown are the load balancers of") +
		` && ` + has(".problems", " s ago.") + ` && ` + has(".status", "Not up to date, read "))
	if n := eval[int](tab, `document.querySelectorAll('.overview .node').length`); n <= 20 {
		t.Errorf("what was read before is not shown: %d objects", n)
	}
	if err := w.client.CoreV1().Services("shop").Delete(t.Context(), "api", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	tab.waitFor(states(0, 1, 0, 5) + ` && ` + has("#services .reason", "CloudUnavailable")) // Kubernetes is still followed
	tab.requireFits()
	tab.requireContrast()
	tab.screenshot("outage")

	over()
	tab.waitFor(`document.querySelector('.problems') === null && ` + listed + ` === 5 && ` + has(".status", "Live"))
	tab.click(".changes summary")
	tab.waitFor(has(".changes", "OpenStack cannot be read") + ` && ` + has(".changes", "OpenStack can be read again.") + ` && ` + has(".changes", "Gone: it was deleted"))
	tab.requireNoComplaints()
}
