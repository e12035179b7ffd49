// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/settings/spelling"
)

// Protection is what an annotation protects. Without the annotation more would be reachable than the user wants,
// or something would be lost. So a Service with a misspelt key of such an annotation is refused.
type Protection string

// The protections.
const (
	// RestrictsAccess is for annotations about clients, networks, TLS, and the true address of clients.
	RestrictsAccess Protection = "restricts access"
	// Keeps is for what cannot be restored: addresses, and changes of other clients.
	Keeps Protection = "keeps what would be lost without it"
	// ChoosesBalancer is for a load balancer that Services share: without the annotation another one
	// would be created.
	ChoosesBalancer Protection = "chooses the load balancer"
	// MayProtect is for an unknown key among so many that they are not compared with the table.
	MayProtect Protection = "may protect something"
)

// Unknown is an annotation whose key seems to be meant for this project, but is not in the table: it is misspelt, or of
// another version.
type Unknown struct {
	Key, Value string
	// Nearest is the key of the table that was probably meant, or "".
	Nearest string
	// Protects is what that key protects; if it is set, the Service is refused. It is "" if the key protects nothing,
	// and for a key without a prefix, which may belong to another program.
	Protects Protection
}

// String returns the key, and the one that was probably meant.
func (u Unknown) String() string {
	if u.Nearest == "" {
		return u.Key
	}
	return fmt.Sprintf("%s (did you mean %s?)", u.Key, u.Nearest)
}

// mostUnknown is the maximum number of unknown annotations of a Service that are examined, because each is
// compared with the whole table.
const mostUnknown = 50

// FindUnknown returns the unknown annotations of a Service, sorted by key. After the first mostUnknown, those with a
// prefix have no Nearest, and are treated as if they may protect something.
func FindUnknown(annotations map[string]string) (all []Unknown) {
	var keys []string
	for key := range annotations {
		if !isKnown(key) && mayBeOurs(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		u, hasPrefix := Unknown{Key: key, Value: annotations[key]}, strings.Contains(key, "/")
		if hasPrefix && len(all) >= mostUnknown {
			u.Protects = MayProtect
			all = append(all, u)
			continue
		}
		nearest, ours := meant(key)
		if !ours {
			continue
		}
		u.Nearest = nearest.Key
		if hasPrefix {
			u.Protects = nearest.Protects
		}
		all = append(all, u)
	}
	return all
}

// misspelt returns a problem for each unknown annotation that protects something, and one problem for all that
// may protect something.
func misspelt(annotations map[string]string) (problems []Problem) {
	for _, u := range FindUnknown(annotations) {
		p := Problem{Key: u.Key, Value: u.Value, Canonical: u.Nearest, Misspelt: true}
		switch u.Protects {
		case "":
			continue
		case MayProtect:
			p.Text = fmt.Sprintf("one of more than %d unknown keys, too many to find out what they mean; remove them", mostUnknown)
			return append(problems, p)
		}
		p.Text = fmt.Sprintf("unknown key; did you mean %s, which %s? Correct the key, or remove the annotation", u.Nearest, u.Protects)
		problems = append(problems, p)
	}
	return problems
}

var lines = byKey(Table)

func byKey(table []Annotation) map[string]Annotation {
	all := map[string]Annotation{}
	for _, a := range table {
		all[a.Key] = a
	}
	return all
}

func isKnown(key string) bool {
	_, canonical := lines[key]
	_, alias := canonicalOf[key]
	return canonical || alias
}

// kubernetesPrefix is the prefix of Kubernetes for annotations of all clouds.
const kubernetesPrefix = "service.beta.kubernetes.io/"

// cloudWord is the beginning of the names with that prefix that are for OpenStack.
const cloudWord = "openstack-"

// otherNames are names that Octavia, other controllers and users use for annotations of the table.
var otherNames = map[string]string{
	"allowed-cidrs": SourceRanges, "allow-cidrs": SourceRanges, "whitelist": SourceRanges, "allowlist": SourceRanges,
	"whitelist-source-range": SourceRanges, "load-balancer-internal": Internal,
}

// mayBeOurs is a cheap test that excludes nearly all keys of other programs.
func mayBeOurs(key string) bool {
	prefix, name := fold(key)
	if prefix == "" {
		_, there := byWords[joined(name)]
		return there && strings.Contains(name, "-")
	}
	return slices.Contains(Prefixes, prefix) || isKubernetes(prefix) || isOfOpenStack(prefix) || slipsInPrefix(prefix) <= mostSlips
}

// meant returns the line of the table that is probably meant by an unknown key, if one is near enough, and reports
// whether the key is meant for this project at all:
//
//   - With our prefixes, every key is.
//   - Without a prefix, a key is if it is a name of several words in the table.
//   - With the prefix of Kubernetes, keys of OpenStack are, and those near one of our keys with that prefix.
//   - With a misspelt prefix, or another one of OpenStack, keys are whose name is near a name in the table.
func meant(key string) (nearest Annotation, ours bool) {
	prefix, name := fold(key)
	switch {
	case slices.Contains(Prefixes, prefix):
		return nearestLine(name), true
	case prefix == "":
		return byWords[joined(name)].line, true
	case isKubernetes(prefix):
		of, isCloud := strings.CutPrefix(name, cloudWord)
		if found, slips := nearestName(name, underKubernetes); slips <= 2 || !isCloud {
			return found.line, slips <= 2
		}
		return nearestLine(of), true
	}
	found, slips := nearestName(name, candidates)
	if slipsInPrefix(prefix) <= mostSlips {
		return found.line, slips <= found.allowed()
	}
	return found.line, slips <= 1
}

// candidate is a line of the table with its name, for comparisons.
type candidate struct {
	line         Annotation
	name, joined string
	words        []string
}

// candidates has all lines, underKubernetes those with the prefix of Kubernetes. byWords has them by their joined
// names.
var (
	candidates      = candidatesOf(Table)
	underKubernetes = slices.DeleteFunc(slices.Clone(candidates), func(c candidate) bool { return !strings.HasPrefix(c.line.Key, kubernetesPrefix) })
	byWords         = byJoinedName(candidates)
)

func candidatesOf(table []Annotation) (all []candidate) {
	for _, a := range table {
		_, name := Split(a.Key)
		all = append(all, candidate{a, name, joined(name), words(name)})
	}
	return all
}

func byJoinedName(all []candidate) map[string]candidate {
	named := map[string]candidate{}
	for _, c := range all {
		named[c.joined] = c
	}
	return named
}

// allowed returns the maximum edit distance of a name that is still considered a misspelling of the
// candidate.
func (c candidate) allowed() int { return min(mostSlips, len(c.name)/3) }

// isKubernetes reports whether a prefix is that of Kubernetes for keys of clouds, or a misspelt form of it.
func isKubernetes(prefix string) bool {
	return slipsIn(prefix, kubernetesPrefix) <= 2 || strings.HasPrefix(prefix, "service") && strings.HasSuffix(prefix, ".kubernetes.io/")
}

// isOfOpenStack reports whether a part of the domain in a prefix names OpenStack's load balancers or this project.
func isOfOpenStack(prefix string) bool {
	parts := strings.Split(strings.TrimSuffix(prefix, "/"), ".")
	others := slices.Contains(parts, "kubernetes") || slices.Contains(parts, "csi")
	return !others && slices.ContainsFunc(parts, func(part string) bool { return slices.Contains([]string{"openstack", "octavia", "kube-octavia"}, part) })
}

// keepWords are the words that users use for keeping an address.
var keepWords = []string{"keep", "retain", "preserve"}

// nearestLine returns the line of the table that a name with our prefixes probably means, or an empty one. It tries in
// this order: the line whose name differs by one typing error; the line that keeps the address, if the name contains a
// word for that; the line whose words are a subset or a superset of those in the name; a line that protects something
// and shares a word with the name that only such lines have; a line with a small edit distance.
func nearestLine(name string) Annotation {
	if key, there := otherNames[name]; there {
		return lines[key]
	}
	nearest, slips := nearestName(name, candidates)
	if slips <= 1 {
		return nearest.line
	}
	given := words(name)
	if slices.ContainsFunc(keepWords, func(w string) bool { return slices.Contains(given, w) }) {
		return lines[KeepFloatingIP]
	}
	for _, fits := range []func(candidate) bool{
		func(c candidate) bool { return containsAll(c.words, given) || containsAll(given, c.words) },
		func(c candidate) bool {
			return slices.ContainsFunc(c.words, func(w string) bool { return protecting[w] && mentions(given, w) })
		},
	} {
		if fitting := slices.DeleteFunc(slices.Clone(candidates), func(c candidate) bool { return !fits(c) }); len(fitting) > 0 {
			nearest, _ := nearestName(name, fitting)
			return nearest.line
		}
	}
	if slips <= nearest.allowed() {
		return nearest.line
	}
	return Annotation{}
}

// protecting has the words that occur only in names of lines that protect something.
var protecting = protectingWords(candidates)

func protectingWords(all []candidate) map[string]bool {
	protecting := map[string]bool{}
	for _, c := range all {
		for _, w := range c.words {
			before, seen := protecting[w]
			protecting[w] = c.line.Protects != "" && (before || !seen)
		}
	}
	return protecting
}

// mentions reports whether the words contain this one, possibly with one typing error if it is
// long.
func mentions(given []string, word string) bool {
	return slices.ContainsFunc(given, func(g string) bool { return g == word || len(word) >= 5 && spelling.Distance(g, word) <= 1 })
}

// nearestName returns the first of the candidates whose name has the smallest edit distance, and this distance.
func nearestName(name string, among []candidate) (nearest candidate, slips int) {
	typed, least := joined(name), 0
	for i, c := range among {
		n := distance(typed, c.joined)
		if i > 0 && n > slips {
			continue
		}
		// A dash too many or too few counts only between candidates with equal distance.
		if exact := spelling.Distance(name, c.name); i == 0 || n < slips || exact < least {
			nearest, slips, least = c, n, exact
		}
	}
	return nearest, slips
}

// mostSlips is the maximum edit distance of a prefix or a long name.
const mostSlips = 3

// slipsInPrefix returns the edit distance of a prefix from the nearest of ours.
func slipsInPrefix(prefix string) int {
	return min(slipsIn(prefix, Prefix), slipsIn(prefix, OwnPrefix))
}

// slipsIn returns the edit distance of two lower-case texts, ignoring separators of words.
func slipsIn(a, b string) int { return distance(joined(a), joined(b)) }

// distance returns the edit distance or, if the difference of the lengths is already far above
// mostSlips, that difference.
func distance(a, b string) int {
	if far := max(len(a), len(b)) - min(len(a), len(b)); far > 2*mostSlips {
		return far
	}
	return spelling.Distance(a, b)
}

// fold returns the prefix and the name of a key in lower case, with dashes between the words of the name, regardless
// of their separators: tls_secret and tlsSecret become tls-secret.
func fold(key string) (prefix, name string) {
	prefix, name = Split(strings.TrimSpace(key))
	name = wordStart.ReplaceAllString(strings.ReplaceAll(name, "_", "-"), "$1-$2")
	return strings.ToLower(prefix), strings.ToLower(name)
}

// wordStart matches the beginning of a word with a capital letter.
var wordStart = regexp.MustCompile(`([a-z0-9])([A-Z])`)

var separators = strings.NewReplacer("-", "", ".", "")

// joined returns a text without the separators of its words.
func joined(text string) string { return separators.Replace(text) }

func words(name string) []string { return strings.Split(name, "-") }

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(w string) bool { return !slices.Contains(all, w) })
}
