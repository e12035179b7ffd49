// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package inifile

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/gcfg.v1"
	"pgregory.net/rapid"
)

// public allows only the region to be shown.
func public(section, key string) bool { return section == "Global" && key == "region" }

func TestStatementsHaveTheirLinesAndUnquotedValues(t *testing.T) {
	got, problems := Parse([]byte("\ufeff# c\n[A]\r\nx = 1 ; c\r\ny\n[B \"b \\\"c\\\"\"]\nz = \"a#b\\n\" c\\\nd\n"), public)
	want := []Statement{
		{Line: 2, Section: "A"},
		{Line: 3, Section: "A", Key: "x", Value: "1"},
		{Line: 4, Section: "A", Key: "y", Blank: true},
		{Line: 5, Section: "B", Name: `b "c"`},
		{Line: 6, Section: "B", Name: `b "c"`, Key: "z", Value: "a#b\n cd", Doubt: doubtOf(`a"b`, `ab`, "")},
	}
	if diff := cmp.Diff(want, got); diff != "" || problems != nil {
		t.Errorf("problems %v, statements (-want +got):\n%s", problems, diff)
	}
}

func TestDoubtfulValuesAreMarked(t *testing.T) {
	for line, part := range map[string]string{
		`password = abc#def`:              "A comment begins",
		`password = abc;def`:              "A comment begins",
		`password = ab"cd"ef`:             "double quotes inside",
		`password = "ab" "cd"`:            "double quotes inside",
		"password = abc\\\nusername = u":  "joins the next line",
		`password = 'abc'`:                "begins and ends with a single quote, which is part of it",
		`password = 'abc' # prod`:         "begins and ends with a single quote",
		`password = ''`:                   "begins and ends with a single quote",
		"password = `abc`":                "begins and ends with a backtick",
		"password = “abc”":                "begins and ends with a typographic quote",
		`password = "'abc'"`:              "In the double quotes, the value begins and ends with a single quote",
		`password = 'abc#def'`:            "begins with a single quote, which is part of it, and ends where a comment begins",
		`password = 'abc # def'`:          "begins with a single quote, which is part of it, and ends where a comment begins",
		"password = `abc;def`":            "begins with a backtick",
		`password == abc`:                 "begins with =",
		"password = abc\u00a0":            "cannot be seen",
		"password = \"abc\u200b\"":        "cannot be seen",
		"password = ${OS_PASSWORD}":       "looks like a placeholder",
		"password = $OS_PASSWORD":         "looks like a placeholder",
		`password = "{{ abc }}"`:          "looks like a placeholder",
		"password = <abc>":                "looks like a placeholder",
		`password = abc # prod`:           "",
		`password = abc ; prod`:           "",
		`password = "abc" # prod`:         "",
		`password = "abc"#prod`:           "",
		`password = "abc" #prod`:          "",
		`password = "ab\"cd#\\"`:          "",
		`password = ab\"cd`:               "",
		"password = # prod":               "",
		"password = abc\\\n  def":         "",
		"password = 'abc":                 "",
		"password = abc'":                 "",
		"password = '":                    "",
		"password = a$bc":                 "",
		"password = Grüße und mehr":       "",
		"cafilecontents = \"a\\nb\\tc\"":  "",
		"auth-url = https://x/v3 ; #prod": "",
	} {
		t.Run(fmt.Sprintf("%q", line), func(t *testing.T) {
			doubt := doubtOfLine(t, line)
			if doubt.OnlySecret || part == "" && doubt != (Doubt{}) || !strings.Contains(doubt.Read, part) || (doubt.Read == "") != (doubt.Write == "") ||
				strings.Contains(doubt.Read+doubt.Write, "abc") {
				t.Errorf("%+v, want %q", doubt, part)
			}
		})
	}
}

func TestPossibleCommentIsADoubtOfSecretsOnly(t *testing.T) {
	for line, part := range map[string]string{
		`password = abc #def`: "ends where a comment begins",
		`password = abc ;def`: "ends where a comment begins",
		`password = #abc`:     "is empty: a comment begins",
		`password =#abc`:      "is empty: a comment begins",
	} {
		t.Run(fmt.Sprintf("%q", line), func(t *testing.T) {
			doubt := doubtOfLine(t, line)
			if !doubt.OnlySecret || !strings.Contains(doubt.Read, part) || strings.Contains(doubt.Read+doubt.Write, "abc") {
				t.Errorf("%+v, want %q", doubt, part)
			}
		})
	}
}

// doubtOfLine returns the doubt about the value in a line.
func doubtOfLine(t *testing.T, line string) Doubt {
	t.Helper()
	statements, problems := Parse([]byte("[Global]\n"+line), public)
	if len(problems) > 0 || len(statements) != 2 {
		t.Fatalf("%s: %v, %v", line, problems, statements)
	}
	return statements[1].Doubt
}

func TestNoDoubtShowsAnythingOfAValue(t *testing.T) {
	pieces := []string{"hunter2", " ", "#", ";", "'", "`", `"hunter2"`, "=", "$", "{{hunter2}}", "<hunter2>", "\u00a0", "“"}
	rapid.Check(t, func(t *rapid.T) {
		value := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 6).Draw(t, "value"), "")
		statements, _ := Parse([]byte("[Global]\npassword = "+value+"\n"), public)
		for _, s := range statements {
			if strings.Contains(s.Doubt.Read+s.Doubt.Write, "hunter2") {
				t.Errorf("%q: %+v", value, s.Doubt)
			}
		}
	})
}

func TestCommonMistakesAreExplained(t *testing.T) {
	const quote = ` a double quote is not closed: write password = "..." on one line, with \" for a double quote in the value, \\ for a backslash and \n for a line end`
	for text, want := range map[string]string{
		"[Global":                                        "1: [Global: the closing bracket is missing: write [Global]",
		"[Global # main":                                 "1: [Global: the closing bracket is missing: write [Global]",
		"[Load Balancer]":                                `1: [Load: the closing bracket is missing, or the double quotes of a name: write [Load] or [Load "name"]`,
		"[LoadBalancerClass gold]":                       `1: [LoadBalancerClass: the closing bracket is missing, or the double quotes of a name: write [LoadBalancerClass] or [LoadBalancerClass "name"]`,
		"[LoadBalancerClass \"gold]":                     `1: [LoadBalancerClass: the double quote is not closed: write [LoadBalancerClass "name"]`,
		"[LoadBalancerClass \"\"]":                       `1: [LoadBalancerClass ""]: the name is empty: write [LoadBalancerClass "name"]`,
		"[]":                                             "1: the name of the section is missing: write [Global], or another section",
		"[Global] region = r":                            "1: [Global]: something follows the closing bracket: write each key on a separate line",
		"region = r":                                     "1: the line is above the first section: write [Global], or the section to which it belongs, above it",
		"[Global]\nregion: r":                            "2: a colon follows the key: write region = ...",
		"[Global]\npassword: hunter2":                    "2: a colon follows the key: write password = ...",
		"[Global]\nauth_url: r":                          "2: a colon follows the key: write auth-url = ...",
		"[Global]\nauth_url = r":                         "2: keys have hyphens instead of underscores: write auth-url = ...",
		"[Global]\nregion RegionOne":                     `2: "=" is missing: write region = ...`,
		"[Global]\nhunter2 hunter2":                      "2: the line is neither [Section], nor key = value, nor a comment that begins with # or ;",
		"[Global]\n// a comment":                         "2: the line is neither [Section], nor key = value, nor a comment that begins with # or ;",
		"[Global]\n<<<<<<< HEAD":                         "2: the line is neither [Section], nor key = value, nor a comment that begins with # or ;",
		"[Global]\npassword = \"hunter2":                 "2: [Global] password:" + quote,
		"[Global]\npassword = hunter2\"hunt":             "2: [Global] password:" + quote,
		"[Global]\npassword = hunt\\er2":                 `2: [Global] password: a backslash needs double quotes: write password = "..." with \\ for each backslash and \" for each double quote of the value`,
		"[Global]\npassword = \"hunter2\\!\"":            `2: [Global] password: a backslash in double quotes begins \\, \", \n or \t: write \\ for each backslash of the value`,
		"[Global]\nregion = \"RegionOne":                 "2: [Global] region:" + strings.ReplaceAll(quote, "password", "region") + `; the line is: region = "RegionOne`,
		"[Global]\nregion = \\a password=b":              `2: [Global] region: a backslash needs double quotes: write region = "..." with \\ for each backslash and \" for each double quote of the value`,
		"[Global]\nusername = \"hunter2":                 "2: [Global] username:" + strings.ReplaceAll(quote, "password", "username"),
		"[Global]\nregion = r\xff":                       "2: a character is not encoded in UTF-8: save the file as UTF-8",
		"[Global]\npassword = hunter2\\\n\"hunter2\\q\"": `2: [Global] password: a backslash in double quotes begins \\, \", \n or \t: write \\ for each backslash of the value`,
		"[Global]\ncafilecontents = \"-----BEGIN CERTIFICATE-----\nMIIB==\nabc/def+\n-----END CERTIFICATE-----\"\nauth_url = r\n": "2: [Global] cafilecontents:" +
			strings.ReplaceAll(quote, "password", "cafilecontents") + "\n6: keys have hyphens instead of underscores: write auth-url = ...",
		"x = 1\ny = 2\n[Global\nregion: r\n[A]\nz\\": "1: the line is above the first section: write [Global], or the section to which it belongs, above it\n" +
			"3: [Global: the closing bracket is missing: write [Global]\n4: a colon follows the key: write region = ...\n" +
			"6: the line is neither [Section], nor key = value, nor a comment that begins with # or ;",
		"{\"auth-url\": \"x\"}":               "0: the file is JSON, not a cloud.conf: write lines such as [Global] and auth-url = ...",
		"# mine\nclouds:\n  a:\n    auth: {}": "0: the file is a clouds.yaml, not a cloud.conf: write a cloud.conf with [Global], use-clouds = true, clouds-file = PATH and cloud = NAME",
		"apiVersion: v1\nkind: Secret\n":      "0: the file is a manifest of Kubernetes, not a cloud.conf: use the text of its key cloud.conf, decoded",
		"---\nglobal: {}":                     "0: the file is YAML, not a cloud.conf: write lines such as [Global] and auth-url = ...",
		"# c\n\nglobal:\r\n  auth-url: x":     "0: the file is YAML, not a cloud.conf: write lines such as [Global] and auth-url = ...",
		"export OS_PASSWORD=hunter2":          "0: the file is an openrc file, not a cloud.conf: write [Global] with auth-url and credentials, without export and OS_",
		"\xff\xfe[\x00G\x00]\x00":             "0: the file is not encoded in UTF-8, but perhaps in UTF-16: save it as UTF-8",
		"[\x00G\x00]\x00":                     "0: the file is not encoded in UTF-8, but perhaps in UTF-16: save it as UTF-8",
	} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			statements, problems := Parse([]byte(text), public)
			if statements != nil {
				t.Errorf("it has statements beside problems: %v", statements)
			}
			var got []string
			for _, p := range problems {
				got = append(got, fmt.Sprintf("%d: %s", p.Line, p.Text))
			}
			if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.Contains(strings.Join(got, ""), "hunter2") {
				t.Error("a problem shows a secret")
			}
		})
	}
}

func TestNoProblemShowsAValueThatMayBeSecret(t *testing.T) {
	isKey := regexp.MustCompile(`hunter2[^\s=:]*\s*[:=]`)
	pieces := []string{"hunter2", "hunter2", " ", "\t", "#", ";", `"`, `\`, "\\\n", "\\\r\n", "=", ":", "[", "]", "'", "{", "ü", "\xff"}
	rapid.Check(t, func(t *rapid.T) {
		value := func(label string) string {
			return "hunter2" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 6).Draw(t, label), "")
		}
		text := "[Global]\nregion = r\npassword = " + value("password") + "\n" +
			rapid.SampledFrom([]string{"", "token: ", "\"", "secret ", "[x] a=", "=", "[X \"y\" "}).Draw(t, "key") + " " + value("more") + "\nregion = \"\n"
		_, problems := Parse([]byte(text), public)
		for _, p := range problems {
			if strings.Contains(p.Text, "hunter2") && !isKey.MatchString(text) {
				t.Errorf("%q: line %d: %s", text, p.Line, p.Text)
			}
		}
	})
}

func TestTheRestOfAValueIsNotShownAsASection(t *testing.T) {
	_, problems := Parse([]byte("[Global]\npassword = a\\\n[hunter2\nregion = \"\n"), public)
	if len(problems) != 1 || problems[0].Line != 4 || !strings.Contains(problems[0].Text, "[Global] region") {
		t.Errorf("problems: %v", problems)
	}
}

func TestTheMemoryForAFileGrowsWithItsLength(t *testing.T) {
	allocated := func(lines int) uint64 {
		text := []byte("[Global]\n" + strings.Repeat("password = \""+strings.Repeat("x", 500)+"\"\n", lines))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		Parse(text, public)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if some, many := allocated(200), allocated(1600); many > 20*some {
		t.Errorf("%d bytes for a file, %d for one of eight times the length", some, many)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("[Global]\nregion = \"a\\\nb\" # c\nx\n[A \"b\"] ; c")
	f.Add("[Global\nx: y\nz = \"\n")
	f.Add("a\\\n\\\n[x]\n[x")
	f.Fuzz(func(t *testing.T, text string) {
		statements, problems := Parse([]byte(text), public)
		var nothing struct{}
		correct := gcfg.FatalOnly(gcfg.ReadStringInto(&nothing, strings.TrimPrefix(text, ByteOrderMark))) == nil
		if refused := len(problems) > 0; refused == correct {
			t.Errorf("gcfg takes it: %v; problems: %v", correct, problems)
		}
		lines, last := strings.Count(text, "\n")+1, 0
		for _, p := range problems {
			if p.Line < 0 || p.Line > lines || p.Line < last || p.Text == "" {
				t.Errorf("problem at line %d of %d, after line %d: %q", p.Line, lines, last, p.Text)
			}
			last = p.Line
		}
		for _, s := range statements {
			if s.Line < 1 || s.Line > lines || s.Section == "" {
				t.Errorf("statement %+v in %d lines", s, lines)
			}
		}
	})
}
