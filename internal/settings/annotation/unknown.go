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

// Protection says what an annotation protects. Without its effect more would be reachable than the user wants, or
// something would be gone. So a misspelt key of such an annotation refuses the Service.
type Protection string

// The protections.
const (
	// RestrictsAccess is for who may connect, from which networks, and whether TLS or the client's true address is needed.
	RestrictsAccess Protection = "restricts access"
	// Keeps is for what cannot be got back: addresses, and changes that other clients made.
	Keeps Protection = "keeps what would be lost without it"
	// ChoosesBalancer is for a load balancer that Services share: another one would be created instead.
	ChoosesBalancer Protection = "chooses the load balancer"
	// MayProtect is for an unknown key among so many that their meaning is not looked up.
	MayProtect Protection = "may protect something"
)

// Unknown is an annotation that was meant for this project, as far as its key shows, and is not in the table: misspelt,
// or of another version.
type Unknown struct {
	Key, Value string
	// Nearest is the key of the table that was probably meant, or "".
	Nearest string
	// Protects is what that key protects, so that the Service is refused. It is "" if it protects nothing, and for a key
	// without a prefix: that may be one of another program.
	Protects Protection
}

// String names the key, and the one that was probably meant.
func (u Unknown) String() string {
	if u.Nearest == "" {
		return u.Key
	}
	return fmt.Sprintf("%s (did you mean %s?)", u.Key, u.Nearest)
}

// mostUnknown is how many unknown annotations of a Service are looked at: each is compared with the whole table.
const mostUnknown = 50

// FindUnknown returns the unknown annotations of a Service, sorted by key. After the first mostUnknown, those with a prefix
// have no Nearest and may protect something.
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

// misspelt returns a problem for each unknown annotation that protects something, and one for all that may do so.
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

// kubernetesPrefix is the prefix of Kubernetes under which all clouds have keys.
const kubernetesPrefix = "service.beta.kubernetes.io/"

// cloudWord is what a key under it begins with that is for OpenStack.
const cloudWord = "openstack-"

// otherNames are names that Octavia, other controllers and people have for annotations of the table.
var otherNames = map[string]string{
	"allowed-cidrs": SourceRanges, "allow-cidrs": SourceRanges, "whitelist": SourceRanges, "allowlist": SourceRanges,
	"whitelist-source-range": SourceRanges, "load-balancer-internal": Internal,
}

// mayBeOurs is a cheap test that leaves out nearly all keys of others.
func mayBeOurs(key string) bool {
	prefix, name := fold(key)
	if prefix == "" {
		_, there := byWords[joined(name)]
		return there && strings.Contains(name, "-")
	}
	return slices.Contains(Prefixes, prefix) || isKubernetes(prefix) || isOfOpenStack(prefix) || slipsInPrefix(prefix) <= mostSlips
}

// meant returns the line of the table that was meant by an unknown key, if one is near enough, and reports whether the
// key was meant for this project at all:
//
//   - Under our prefixes, every key is.
//   - Without a prefix, one is that is a name of several words of the table.
//   - Under the prefix of Kubernetes, those of OpenStack are, and those near one of our keys there.
//   - Under a misspelt prefix, and one of OpenStack, those are whose name is near a name of the table.
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

// candidates are all lines, and underKubernetes those under the prefix of Kubernetes. byWords has them by their joined names.
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

// allowed is how many slips a name may have to be taken for that of the candidate.
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

// keepWords are what people call it to keep an address.
var keepWords = []string{"keep", "retain", "preserve"}

// nearestLine returns the line of the table that a name under our prefixes stands for, or an empty one: the one of which
// the name is a slip of the keyboard; or else that which keeps the address, if the name has a word for that; or else that
// with some of its words, or more; or else one that protects something and has a word of the name that only such lines
// have; or else one with few slips.
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

// protecting are the words that only names of lines have that protect something.
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

// mentions reports whether the words have this one, or a long one with one slip.
func mentions(given []string, word string) bool {
	return slices.ContainsFunc(given, func(g string) bool { return g == word || len(word) >= 5 && spelling.Distance(g, word) <= 1 })
}

// nearestName returns the first of the candidates whose name has the fewest slips in it, and how many these are.
func nearestName(name string, among []candidate) (nearest candidate, slips int) {
	typed, least := joined(name), 0
	for i, c := range among {
		n := distance(typed, c.joined)
		if i > 0 && n > slips {
			continue
		}
		// A dash too many or too few counts only between candidates that are equally near.
		if exact := spelling.Distance(name, c.name); i == 0 || n < slips || exact < least {
			nearest, slips, least = c, n, exact
		}
	}
	return nearest, slips
}

// mostSlips is how many slips a prefix or a long name may have.
const mostSlips = 3

// slipsInPrefix returns the slips in a prefix that was meant to be one of ours.
func slipsInPrefix(prefix string) int {
	return min(slipsIn(prefix, Prefix), slipsIn(prefix, OwnPrefix))
}

// slipsIn returns the edit distance of two texts in small letters, apart from what separates their words.
func slipsIn(a, b string) int { return distance(joined(a), joined(b)) }

// distance is the edit distance, or less if that is far above mostSlips: the difference of the lengths.
func distance(a, b string) int {
	if far := max(len(a), len(b)) - min(len(a), len(b)); far > 2*mostSlips {
		return far
	}
	return spelling.Distance(a, b)
}

// fold returns prefix and name of a key in small letters, with a dash between the words of the name, however they were
// separated: tls_secret and tlsSecret are tls-secret.
func fold(key string) (prefix, name string) {
	prefix, name = Split(strings.TrimSpace(key))
	name = wordStart.ReplaceAllString(strings.ReplaceAll(name, "_", "-"), "$1-$2")
	return strings.ToLower(prefix), strings.ToLower(name)
}

// wordStart is where a word begins with a capital letter.
var wordStart = regexp.MustCompile(`([a-z0-9])([A-Z])`)

var separators = strings.NewReplacer("-", "", ".", "")

// joined returns a text without what separates its words.
func joined(text string) string { return separators.Replace(text) }

func words(name string) []string { return strings.Split(name, "-") }

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(w string) bool { return !slices.Contains(all, w) })
}
