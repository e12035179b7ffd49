// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// barWidth is the width of the progress bar in characters.
const barWidth = 30

// ProgressTo returns a function that shows the progress: with a bar on a terminal, otherwise with a line for each
// change. The format is for the two numbers.
func ProgressTo(out io.Writer, format string) func(Progress) {
	file, _ := out.(*os.File)
	terminal := false
	if file != nil {
		info, err := file.Stat()
		terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	last := ""
	return func(p Progress) {
		text := fmt.Sprintf(format, p.Deleted, p.Total)
		if len(p.Waiting) > 0 {
			text += "; waiting: " + strings.Join(p.Waiting, "; ")
		}
		switch {
		case terminal:
			done := 0
			if p.Total > 0 {
				done = barWidth * p.Deleted / p.Total
			}
			fmt.Fprintf(out, "\r\033[K[%s%s] %s", strings.Repeat("=", done), strings.Repeat(" ", barWidth-done), text)
			if p.Deleted == p.Total {
				fmt.Fprintln(out)
			}
		case text != last:
			fmt.Fprintln(out, text)
		}
		last = text
	}
}
