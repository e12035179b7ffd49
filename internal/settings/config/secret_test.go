// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/yaml"
)

func TestSecretIsNeverPrinted(t *testing.T) {
	g := Global{AuthURL: "https://keystone", Password: "hunter2", Token: "hunter2"}
	ways := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T %v", "%10.3s"} {
		ways["value as "+verb] = fmt.Sprintf(verb, g)
		ways["pointer as "+verb] = fmt.Sprintf(verb, &g)
		ways["secret as "+verb] = fmt.Sprintf(verb, g.Password)
	}
	text, err := json.Marshal(map[string]any{"config": g, "list": []Secret{g.Token}})
	if err != nil {
		t.Fatal(err)
	}
	ways["JSON"] = string(text)
	if text, err = yaml.Marshal(g); err != nil {
		t.Fatal(err)
	}
	ways["YAML"] = string(text)

	var out bytes.Buffer
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "config", g, "password", g.Password)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "config", g, "password", g.Password)
	ways["slog"] = out.String()

	funcr.New(func(_, args string) { ways["logr"] += args }, funcr.Options{Verbosity: 9}).Info("x", "config", g, "password", g.Password)

	var zapped bytes.Buffer
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(&zapped), zap.DebugLevel)
	zap.New(core).Info("x", zap.Any("config", g), zap.Any("password", g.Password))
	ways["zap"] = zapped.String()

	for way, shown := range ways {
		t.Run(way, func(t *testing.T) {
			if shown == "" {
				t.Error("it shows nothing")
			}
			if strings.Contains(shown, "hunter2") || strings.Contains(shown, "68756e74657232") {
				t.Errorf("it shows the secret: %s", shown)
			}
		})
	}
	if got := g.Password.Reveal(); got != "hunter2" {
		t.Errorf("Reveal gives %q", got)
	}
}

func TestEmptySecretIsPrintedAsEmpty(t *testing.T) {
	if got := fmt.Sprintf("%s", Secret("")); got != "" {
		t.Errorf("got %q", got)
	}
}
