// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestAMistakeInTheValuesIsRefusedWithWhatToDo has for each mistake the words that the error must contain.
func TestAMistakeInTheValuesIsRefusedWithWhatToDo(t *testing.T) {
	older := helm
	older.Kubernetes = "v1.29.3"
	for name, c := range map[string]struct {
		values  string
		release release
		want    []string
	}{
		"nothing":                   {"", helm, []string{"set "}},
		"no name of the cluster":    {"image: {repository: a}\ncloudConfig: {existingSecret: s}", helm, []string{"set clusterName", "cannot be changed later"}},
		"no image":                  {"clusterName: prod\ncloudConfig: {existingSecret: s}", helm, []string{"set image.repository", "make image"}},
		"no configuration":          {"clusterName: prod\nimage: {repository: a}", helm, []string{"there is no configuration of the cloud", "cloudConfig.existingSecret", "cloudConfig.global"}},
		"no login":                  {"clusterName: prod\nimage: {repository: a}\ncloudConfig: {loadBalancer: {lb-provider: a}}", helm, []string{"there is no configuration of the cloud"}},
		"Secret and values":         {"clusterName: prod\nimage: {repository: a}\ncloudConfig: {existingSecret: s, loadBalancer: {lb-provider: a}}", helm, []string{"cloudConfig.existingSecret and cloudConfig.loadBalancer are both set"}},
		"misspelled value":          {minimal + "replica: 3", helm, []string{"replica", "not allowed"}},
		"misspelled key":            {withConf("loadBalancer: {subnet: a}"), helm, []string{"/cloudConfig/loadBalancer", "subnet", "not allowed"}},
		"misspelled key of a class": {withConf("loadBalancerClasses: {gold: {subnet: a}}"), helm, []string{"/cloudConfig/loadBalancerClasses/gold", "subnet"}},
		"class with a line end":     {withConf(`loadBalancerClasses: {"a\nb": {}}`), helm, []string{"/cloudConfig/loadBalancerClasses"}},
		"class without a name":      {withConf(`loadBalancerClasses: {"": {}}`), helm, []string{"/cloudConfig/loadBalancerClasses"}},
		"an id that is a number":    {withConf("loadBalancer: {subnet-id: 12e4}"), helm, []string{"/cloudConfig/loadBalancer/subnet-id", "got number, want null or string"}},
		"a name instead of an id":   {withConf("loadBalancer: {floating-network-id: public}"), helm, []string{"/cloudConfig/loadBalancer/floating-network-id", "does not match pattern"}},
		"a number that is text":     {withConf(`loadBalancer: {max-shared-lb: "2"}`), helm, []string{"/cloudConfig/loadBalancer/max-shared-lb", "want null or integer"}},
		"a file in place of ours":   {withConf("files: {cloud.conf: a}"), helm, []string{"/cloudConfig/files"}},
		"another adopt":             {minimal + "adopt: yes", helm, []string{"/adopt", "'observe', 'tag'"}},
		"another action":            {minimal + "admissionPolicy: {validationActions: [Reject]}", helm, []string{"/admissionPolicy/validationActions/0", "'Deny', 'Warn', 'Audit'"}},
		"concurrency of 0":          {minimal + "concurrency: 0", helm, []string{"/concurrency"}},
		"an interval without unit":  {minimal + `sweepInterval: "60"`, helm, []string{"/sweepInterval"}},
		"another grace period":      {minimal + "orphanGracePeriod: always", helm, []string{"/orphanGracePeriod"}},
		"a port of 0":               {minimal + "healthPort: 0", helm, []string{"/healthPort"}},
		"a digest as a tag":         {strings.Replace(minimal, "tag: v1", "digest: v1", 1), helm, []string{"/image/digest"}},
		"an argument without dash":  {minimal + "extraArgs: [v=4]", helm, []string{"/extraArgs/0"}},
		"a carriage return":         {withConf(`global: {password: "hunter\r2"}`), helm, []string{"cloudConfig.global.password contains a carriage return"}},
		"no ServiceAccount":         {minimal + "serviceAccount: {create: false}", helm, []string{"set serviceAccount.name"}},
		"policy for hostNetwork":    {minimal + "networkPolicy: {enabled: true}\nhostNetwork: true", helm, []string{"networkPolicy.enabled has no effect with hostNetwork"}},
		"old Kubernetes, policy":    {minimal + "admissionPolicy: {enabled: true}", older, []string{"admissionPolicy.enabled needs Kubernetes 1.30", "1.29.3"}},
		"old Kubernetes, gates":     {minimal + "podReadinessGates: {enabled: true}", older, []string{"podReadinessGates.policy needs Kubernetes 1.36", "1.29.3"}},
		"old Kubernetes, no policy": {minimal + "podReadinessGates: {enabled: true, policy: false}", older, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render(loaded(t), parsed(t, c.values), c.release)
			if len(c.want) == 0 && err != nil {
				t.Errorf("refused: %v", err)
			}
			for _, words := range c.want {
				if err == nil || !strings.Contains(err.Error(), words) {
					t.Errorf("the error has no %q: %v", words, err)
				}
			}
			if err != nil && strings.Contains(err.Error(), "hunter") {
				t.Errorf("the error shows a password: %v", err)
			}
		})
	}
}

// withConf are values with a part of cloudConfig.
func withConf(part string) string {
	global := ""
	if !strings.HasPrefix(part, "global:") {
		global = "  global: {auth-url: https://keystone.example.com/v3}\n"
	}
	return "clusterName: prod\nimage: {repository: a}\ncloudConfig:\n" + global + "  " + part + "\n"
}
