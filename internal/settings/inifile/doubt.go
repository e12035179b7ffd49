// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package inifile

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Doubt describes why a value may be read differently than intended. It does not show the value. It is empty
// for most values.
type Doubt struct {
	// Read is a sentence that describes what was read.
	Read string
	// Write is a sentence that says what to write instead.
	Write string
	// OnlySecret means that the doubt applies only to secrets. In other values this is normal.
	OnlySecret bool
}

// doubtOf returns the doubt about a value. literal is the trimmed text in the file, and rest is what follows on its
// last line.
func doubtOf(literal, value, rest string) Doubt {
	quote := QuotesAround(value)
	switch {
	case allQuoted.MatchString(literal) && quote != "":
		return Doubt{Read: "In the double quotes, the value begins and ends with a " + quote + ", which is part of it.", Write: "If they do not belong to the value, remove them."}
	case allQuoted.MatchString(literal):
		return doubtOfText(value)
	case commentFollows(rest):
		return doubtOfComment(literal, rest)
	case quote != "":
		return Doubt{Read: "The value begins and ends with a " + quote + ", which is part of it.", Write: "Write double quotes instead, or no quotes."}
	case strings.Contains(escaped.ReplaceAllString(literal, ""), `"`):
		return Doubt{Read: "The double quotes inside the value are removed.", Write: `If they belong to the value, write it in double quotes, with \" for each of them.`}
	case swallows.MatchString(literal):
		return Doubt{Read: "The backslash at the end of the line joins the next line to the value.", Write: `If it belongs to the value, write the value in double quotes, with \\ for each backslash.`}
	case strings.HasPrefix(value, "="):
		return Doubt{Read: "The value begins with =, which is part of it.", Write: "Write one = between key and value, or the value in double quotes if the = belongs to it."}
	}
	return doubtOfText(value)
}

var (
	escaped   = regexp.MustCompile(`\\.`)
	allQuoted = regexp.MustCompile(`^"(?:[^"\\]|\\.)*"$`)
	swallows  = regexp.MustCompile(`\\\r?\n\s*[A-Za-z-]+\s*=`)
)

// doubtOfText is about characters that programs or templates should have replaced.
func doubtOfText(value string) Doubt {
	switch {
	case strings.ContainsFunc(value, invisible):
		return Doubt{Read: "The value contains a character that cannot be seen, such as a no-break space.", Write: "Type the value again instead of copying it."}
	case placeholder.MatchString(value):
		return Doubt{Read: "The value looks like a placeholder, but is used literally: cloud.conf has no variables.", Write: "Write the value itself."}
	}
	return Doubt{}
}

// placeholder matches ${NAME}, $NAME, {{ name }}, <name> and %NAME%.
var placeholder = regexp.MustCompile(`^(\$\{[^{}]*\}|\$[A-Z][A-Z0-9_]+|\{\{.*\}\}|<[A-Za-z][A-Za-z0-9 _-]*>|%[A-Z][A-Z0-9_]*%)$`)

// invisible reports whether a character is invisible. The normal space does not count.
func invisible(c rune) bool {
	return c != ' ' && unicode.Is(unicode.Zs, c) || unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp)
}

// commentFollows reports whether a comment begins on the line of the value.
func commentFollows(rest string) bool {
	rest = strings.TrimLeft(rest, " \t")
	return strings.HasPrefix(rest, "#") || strings.HasPrefix(rest, ";")
}

// doubtOfComment is about a value that is cut off by a comment.
func doubtOfComment(literal, rest string) Doubt {
	comment := strings.TrimLeft(rest, " \t")
	next, _ := utf8.DecodeRuneInString(comment[1:])
	text := next != utf8.RuneError && !unicode.IsSpace(next)
	first, _ := utf8.DecodeRuneInString(literal)
	const write = "If it belongs to the value, write the value in double quotes."
	switch {
	case literal == "" && text:
		return Doubt{Read: "The value is empty: a comment begins at the # or ;.", Write: write, OnlySecret: true}
	case literal == "":
		return Doubt{}
	case quoteNames[first] != "" && QuotesAround(literal) == "":
		return Doubt{Read: fmt.Sprintf("The value begins with a %s, which is part of it, and ends where a comment begins, at the # or ;.", quoteNames[first]),
			Write: "Write the value in double quotes instead."}
	case comment == rest:
		return Doubt{Read: "A comment begins at the # or ; right behind the value.", Write: write}
	case QuotesAround(literal) != "":
		return Doubt{Read: "The value begins and ends with a " + QuotesAround(literal) + ", which is part of it.", Write: "Write double quotes instead, or no quotes."}
	case text:
		return Doubt{Read: "The value ends where a comment begins, at the # or ; behind a blank.", Write: write, OnlySecret: true}
	}
	return Doubt{}
}

// quoteNames has the quotes that other files use around values.
var quoteNames = map[rune]string{
	'\'': "single quote", '`': "backtick",
	'‘': typographic, '’': typographic, '‚': typographic, '“': typographic, '”': typographic, '„': typographic, '«': typographic, '»': typographic,
}

const typographic = "typographic quote"

// QuotesAround returns the name of the quotes, other than double quotes, at both ends of a value, or "".
func QuotesAround(value string) string {
	first, size := utf8.DecodeRuneInString(value)
	last, _ := utf8.DecodeLastRuneInString(value)
	if size == len(value) || quoteNames[first] == "" || quoteNames[first] != quoteNames[last] {
		return ""
	}
	return quoteNames[first]
}
