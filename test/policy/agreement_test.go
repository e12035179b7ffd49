// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// refused reports whether the controller refuses the annotations for what they are, and why. The cloud.conf is
// one that cannot contradict a single annotation.
func refused(annotations map[string]string) []annotation.Problem {
	class := annotation.Value(annotations, annotation.ClassKey)
	settings := config.LoadBalancer{ContainerStore: "external", MonitorDelay: 24 * time.Hour, MonitorTimeout: time.Second, MonitorMaxRetries: 1, MonitorMaxRetriesDown: 1}
	operator := settings
	operator.Classes = map[string]config.LoadBalancer{class: settings}
	_, problems := annotation.Parse(annotations, operator)
	return problems
}

// agree fails unless kube-apiserver refuses the annotations if and only if the controller does, and
// names each of those that it would.
func (u user) agree(t testingT, annotations map[string]string) {
	t.Helper()
	problems, err := refused(annotations), u.try(t, annotations)
	if len(problems) > 0 != (err != nil) {
		t.Errorf("%q: the controller has the problems %v, and kube-apiserver says: %v", annotations, problems, err)
		return
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Text, "must ") && !strings.Contains(err.Error(), p.Text) {
			t.Errorf("%q: the controller says %v, and kube-apiserver in other words: %v", annotations, p, err)
		}
		if !strings.Contains(err.Error(), p.Key) || strings.Contains(err.Error(), "resulted in error") != strings.Contains(p.Text, "is not a valid regular expression") {
			t.Errorf("%q: the controller says %v, and kube-apiserver: %v", annotations, p, err)
		}
	}
}

// kinds returns one annotation for each rule, under each prefix in turn.
func kinds() []string {
	var keys []string
	known := map[annotation.Rule]bool{}
	for _, a := range annotation.Table {
		if !a.Output && !known[a.Rule] {
			under := a.Keys()
			keys, known[a.Rule] = append(keys, under[len(keys)%len(under)]), true
		}
	}
	return keys
}

// under returns the last key under which an annotation is understood.
func under(key string) string {
	for _, a := range annotation.Table {
		if keys := a.Keys(); a.Key == key {
			return keys[len(keys)-1]
		}
	}
	return key
}

func TestKubeAPIServerAndControllerRefuseTheSameValues(t *testing.T) {
	u := newUser(t)
	values := map[string]bool{
		"-0": true, "+": true, "0x10": true, "1_000": true, "٣": true, "0000000000000000000000005": true, "2147483647.0": true,
		"a/=b": true, "/a": true, "a.b/c": true, "A.b/c": true, "a=b=": true, "-a=": true, "a\u2003=\u2003b": true, "a=ü": true,
		strings.Repeat("a", 253) + "/b": true, strings.Repeat("a", 254) + "/b": true, "x=" + strings.Repeat("a", 64): true,
		"1.2.3.4/08": true, "1.2.3.4/+8": true, "::1%lo/128": true, "::ffff:1.2.3.4/128": true, "1.2.3/8": true, "/8": true, "::/129": true,
		"1.2.3.256": true, "01.2.3.4": true, strings.Repeat("a", 253): true, strings.Repeat("a", 254): true, "a-": true,
		"&!": true, "!!&": true, "&&": true, "\u0085": true, "!\u00a0": true, "!\u200b": true, "! ~(": true, "!!~(": true, "~\\": true, "~(?<a>b)\\z": true, "~a{1001}": true,
		"\x00": true, "true\u0000": true, "\v\ftrue": true, "\ufefftrue": true, "'": true, `"`: true, `\`: true, "%s": true, "\U0001F600": true,
	}
	for _, list := range [][]value{bad, good} {
		for _, v := range list {
			if len(v.value) < 1000 {
				values[v.value] = true
			}
		}
	}
	for _, key := range kinds() {
		for value := range values {
			u.agree(t, map[string]string{key: value})
		}
	}
	t.Logf("%d values of %d kinds", len(values), len(kinds()))
}

func TestKubeAPIServerAndControllerRefuseTheSameRandomTexts(t *testing.T) {
	u := newUser(t)
	pieces := rapid.SampledFrom([]string{
		"true", "false", "10.0.0.0", "/8", "/33", "::1", "/64", "fe80::1%eth0", ",", ",", "=", "=", "/", ".", "-", "+", "_", "!", "&", "~", "*", "?", "(", ")", "[a", "]", `\`,
		"HTTP", "PROXYV2", "appProtocol", "v1", "v2", "http", "a", "zone", "A", "é", "0", "1", "7", "10", "86400", "2147483647", someID, someID[:8], " ", "\t", "\u00a0", "\u2028", "\n", "repair", "ROUND_ROBIN", "example.com", "x=1", "x=2",
	})
	keys := kinds()
	rapid.Check(t, func(rt *rapid.T) {
		value := strings.Join(rapid.SliceOfN(pieces, 0, 5).Draw(rt, "pieces"), "")
		for _, key := range keys {
			u.agree(rt, map[string]string{key: value})
		}
	})
}

func TestKubeAPIServerComparesAnnotationsAsTheControllerDoes(t *testing.T) {
	u := newUser(t)
	for _, c := range annotation.Comparisons {
		for _, first := range []string{"", " ", "true", "false", "1", "5", " 05", "10", "x", "86401"} {
			for _, second := range []string{"", "true", "v2 ", " false", "v3", "1", "5", "+10 ", "0", "y"} {
				u.agree(t, map[string]string{c.Keys[0]: first, c.Keys[1]: second})
				u.agree(t, map[string]string{c.Keys[0]: first, under(c.Keys[1]): second})
			}
		}
	}
}

func TestKubeAPIServerRefusesTwoValuesUnderTwoPrefixes(t *testing.T) {
	u := newUser(t)
	for _, a := range annotation.Table {
		t.Run(a.Key, func(t *testing.T) {
			keys := a.Keys()
			if len(keys) < 2 {
				return
			}
			u.agree(t, map[string]string{keys[0]: "", keys[1]: " "})
			both := map[string]string{keys[0]: "", keys[1]: "1"}
			u.agree(t, both)
			if err := u.try(t, both); err == nil || !strings.Contains(err.Error(), keys[0]) || !strings.Contains(err.Error(), keys[1]) {
				t.Errorf("%q: %v, want a refusal that names both", both, err)
			}
		})
	}
}
