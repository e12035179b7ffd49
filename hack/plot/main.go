// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Command plot draws the results of the benchmark: for each scenario that was measured with several
// numbers of Services, the calls per Service, and the seconds next to the limit of the cloud. It is
// a separate module, because its library needs others that the rest of the project does not need.
//
//	go run . RESULTS.json DIRECTORY
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "plot: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: plot RESULTS.json DIRECTORY")
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var results document
	if err := json.Unmarshal(text, &results); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if err := os.MkdirAll(args[1], 0o755); err != nil {
		return err
	}
	charts := chartsOf(results)
	if len(charts) == 0 {
		return errors.New("no scenario was measured with several numbers of Services")
	}
	for _, c := range charts {
		if err := c.draw(filepath.Join(args[1], c.file)); err != nil {
			return fmt.Errorf("%s: %w", c.file, err)
		}
	}
	return nil
}
