// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package inifile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/gcfg.v1"
	"gopkg.in/gcfg.v1/scanner"
)

// Problem is one error of the syntax.
type Problem struct {
	// Line is counted from 1. It is 0 if the text as a whole is wrong.
	Line int
	// Text says what is wrong and what to write instead. It shows no value that may be secret.
	Text string
}

// mostProblems is the maximum number of problems that are listed.
const mostProblems = 20

// problemsOf lists the syntax errors. gcfg stops at the first one, so each wrong line is replaced, and the text is
// checked again.
func problemsOf(text string, public func(section, key string) bool) []Problem {
	problems := findProblems(text, public)
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.Line - b.Line }) // gcfg reads some lines ahead
	return problems
}

func findProblems(text string, public func(section, key string) bool) []Problem {
	var problems []Problem
	lines := strings.Split(text, "\n")
	for len(problems) < mostProblems {
		line, message := judge(strings.Join(lines, "\n"))
		if message == "" {
			return problems
		}
		first := min(max(line, 1), len(lines)) - 1
		for first > 0 && continues(lines[first-1]) {
			first-- // so that no part of a multi-line value is treated as a key
		}
		if lines[first] == anySection {
			return append(problems, Problem{Line: first + 1, Text: message}) // cannot happen: replaced lines are valid
		}
		wrong := mistake{line: lines[first], message: message, section: sectionAbove(lines[:first]), public: public}
		problems = append(problems, Problem{Line: first + 1, Text: wrong.text()})
		for end := wrong.end(lines, first); first <= end; first++ {
			lines[first] = ""
			if wrong.opensSection() && first == end {
				lines[first] = anySection
			}
		}
	}
	return problems
}

// anySection replaces a line that should open a section.
const anySection = "[x]"

// judge returns the line and the message of gcfg's first error.
func judge(text string) (int, string) {
	var nothing struct{} // has no fields, so every key is extra data and only the syntax is checked
	err := gcfg.FatalOnly(gcfg.ReadStringInto(&nothing, text))
	var list scanner.ErrorList
	switch {
	case err == nil:
		return 0, ""
	case errors.As(err, &list) && len(list) > 0:
		return list[0].Pos.Line, list[0].Msg
	}
	position := regexp.MustCompile(`^(\d+):\d+: (.*)$`).FindStringSubmatch(strings.TrimSpace(err.Error()))
	if position == nil {
		return 1, "the line cannot be read"
	}
	line, _ := strconv.Atoi(position[1])
	return line, position[2]
}

// continues reports whether the next line continues this one.
func continues(line string) bool { return strings.HasSuffix(strings.TrimSuffix(line, "\r"), `\`) }

var (
	header     = regexp.MustCompile(`^\s*\[\s*([A-Za-z][A-Za-z0-9-]*)?\s*("(?:[^"\\]|\\.)*")?\s*(.?)(.*)$`)
	assignment = regexp.MustCompile(`^\s*([^\s=:\[\]"#;]+)\s*([=:]?)`)
	validKey   = regexp.MustCompile(`^\pL[\pL\p{Nd}-]*$`)
	underlined = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
	// nextStatement matches no line of a certificate.
	nextStatement = regexp.MustCompile(`^\s*([A-Za-z_-]+\s*=([^=]|$)|\[|[#;])`)
	// mayBeSecret also matches an address with a user, or a user and a password.
	mayBeSecret = regexp.MustCompile(`(?i)pass|secret|token|@|://[^/]*:[^0-9]|"[^"/]*:`)
)

// sectionAbove returns the section of the last header in the lines. Continued lines of a value, which may be secret,
// are not headers.
func sectionAbove(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		if i > 0 && continues(lines[i-1]) {
			continue
		}
		if m := header.FindStringSubmatch(lines[i]); m != nil {
			return m[1]
		}
	}
	return ""
}

// mistake is a line with an error.
type mistake struct {
	line, message, section string
	public                 func(section, key string) bool
}

// end returns the index of the last line that belongs to the mistake.
func (m mistake) end(lines []string, first int) int {
	last := first
	for last+1 < len(lines) && continues(lines[last]) {
		last++
	}
	if m.message == notTerminated {
		for last+1 < len(lines) && (continues(lines[last]) || !nextStatement.MatchString(lines[last+1])) {
			last++
		}
	}
	return last
}

// opensSection reports whether the following lines need a header instead of this line.
func (m mistake) opensSection() bool { return m.isHeader() || m.message == noSection }

func (m mistake) isHeader() bool { return strings.HasPrefix(strings.TrimSpace(m.line), "[") }

// The messages of gcfg.
const (
	notTerminated = "string not terminated"
	noSection     = "expected section header"
	unknownEscape = "unknown escape sequence"
	bareBackslash = `unquoted '\' must be followed by new line or double quote`
	notUTF8       = "illegal UTF-8 encoding"
)

func (m mistake) text() string {
	switch {
	case m.message == notUTF8:
		return "a character is not encoded in UTF-8: save the file as UTF-8"
	case m.isHeader():
		return headerMistake(m.line)
	case m.message == noSection:
		return "the line is above the first section: write [Global], or the section to which it belongs, above it"
	}
	key, sign := "", ""
	if found := assignment.FindStringSubmatch(m.line); found != nil {
		key, sign = found[1], found[2]
	}
	switch {
	case sign == ":" && underlined.MatchString(key):
		key = strings.ReplaceAll(key, "_", "-")
		return fmt.Sprintf("a colon follows the key: write %s = ...", key)
	case sign == "=" && strings.Contains(key, "_") && underlined.MatchString(key):
		return fmt.Sprintf("keys have hyphens instead of underscores: write %s = ...", strings.ReplaceAll(key, "_", "-"))
	case sign == "=" && validKey.MatchString(key):
		return fmt.Sprintf("[%s] %s: %s", m.section, key, valueMistake(m.message, key)) + m.shown(key)
	case sign == "" && m.public(m.section, key):
		return fmt.Sprintf(`"=" is missing: write %s = ...`, key)
	}
	return `the line is neither [Section], nor key = value, nor a comment that begins with # or ;`
}

// shown returns the end of a sentence that shows the line, if it may be shown.
func (m mistake) shown(key string) string {
	line := strings.TrimSpace(m.line)
	if !m.public(m.section, key) || mayBeSecret.MatchString(line) || len(line) > 120 {
		return ""
	}
	return "; the line is: " + line
}

func headerMistake(line string) string {
	parts := header.FindStringSubmatch(strings.TrimSuffix(line, "\r"))
	if parts == nil || parts[1] == "" {
		return "the name of the section is missing: write [Global], or another section"
	}
	section, name, next := parts[1], parts[2], parts[3]
	switch {
	case next == `"`:
		return fmt.Sprintf(`[%s: the double quote is not closed: write [%s "name"]`, section, section)
	case name == `""`:
		return fmt.Sprintf(`[%s ""]: the name is empty: write [%s "name"]`, section, section)
	case next == "]":
		return fmt.Sprintf("[%s]: something follows the closing bracket: write each key on a separate line", section)
	case next == "" || next == "#" || next == ";":
		return fmt.Sprintf("[%s: the closing bracket is missing: write [%s]", section, section)
	}
	return fmt.Sprintf(`[%s: the closing bracket is missing, or the double quotes of a name: write [%s] or [%s "name"]`, section, section, section)
}

// valueMistake returns what is wrong with the value of a key.
func valueMistake(message, key string) string {
	switch message {
	case notTerminated:
		return fmt.Sprintf(`a double quote is not closed: write %s = "..." on one line, with \" for a double quote in the value, \\ for a backslash and \n for a line end`, key)
	case unknownEscape:
		return `a backslash in double quotes begins \\, \", \n or \t: write \\ for each backslash of the value`
	case bareBackslash:
		return fmt.Sprintf(`a backslash needs double quotes: write %s = "..." with \\ for each backslash and \" for each double quote of the value`, key)
	}
	return "the value cannot be read: write it in double quotes"
}
