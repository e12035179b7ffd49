// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestAMistakeInTheValuesIsRefusedWithWhatToDo has, for each mistake, the text that the error must
// contain.
func TestAMistakeInTheValuesIsRefusedWithWhatToDo(t *testing.T) {
	older := helm
	older.Kubernetes = "v1.29.3"
	for name, c := range map[string]struct {
		values  string
		release release
		want    []string
	}{
		"nothing":                    {"", helm, []string{"set "}},
		"no name of the cluster":     {"image: {repository: a}\ncloudConfig: {existingSecret: s}", helm, []string{"set clusterName", "cannot be changed later"}},
		"no image":                   {"clusterName: prod\ncloudConfig: {existingSecret: s}", helm, []string{"set image.repository", "make image"}},
		"no configuration":           {"clusterName: prod\nimage: {repository: a}", helm, []string{"there is no configuration of the cloud", "cloudConfig.existingSecret", "cloudConfig.global"}},
		"no login":                   {"clusterName: prod\nimage: {repository: a}\ncloudConfig: {loadBalancer: {lb-provider: a}}", helm, []string{"there is no configuration of the cloud"}},
		"Secret and values":          {"clusterName: prod\nimage: {repository: a}\ncloudConfig: {existingSecret: s, loadBalancer: {lb-provider: a}}", helm, []string{"cloudConfig.existingSecret and cloudConfig.loadBalancer are both set"}},
		"misspelled value":           {minimal + "replica: 3", helm, []string{"replica", "not allowed"}},
		"misspelled key":             {withConf("loadBalancer: {subnet: a}"), helm, []string{"/cloudConfig/loadBalancer", "subnet", "not allowed"}},
		"misspelled key of a class":  {withConf("loadBalancerClasses: {gold: {subnet: a}}"), helm, []string{"/cloudConfig/loadBalancerClasses/gold", "subnet"}},
		"class with a line end":      {withConf(`loadBalancerClasses: {"a\nb": {}}`), helm, []string{"/cloudConfig/loadBalancerClasses"}},
		"class without a name":       {withConf(`loadBalancerClasses: {"": {}}`), helm, []string{"/cloudConfig/loadBalancerClasses"}},
		"an id that is a number":     {withConf("loadBalancer: {subnet-id: 12e4}"), helm, []string{"/cloudConfig/loadBalancer/subnet-id", "got number, want null or string"}},
		"a name instead of an id":    {withConf("loadBalancer: {floating-network-id: public}"), helm, []string{"/cloudConfig/loadBalancer/floating-network-id", "does not match pattern"}},
		"a number that is text":      {withConf(`loadBalancer: {max-shared-lb: "2"}`), helm, []string{"/cloudConfig/loadBalancer/max-shared-lb", "want null or integer"}},
		"a file in place of ours":    {withConf("files: {cloud.conf: a}"), helm, []string{"/cloudConfig/files"}},
		"another adopt":              {minimal + "adopt: yes", helm, []string{"/adopt", "'observe', 'tag'"}},
		"another action":             {minimal + "admissionPolicy: {validationActions: [Reject]}", helm, []string{"/admissionPolicy/validationActions/0", "'Deny', 'Warn', 'Audit'"}},
		"concurrency of 0":           {minimal + "concurrency: 0", helm, []string{"/concurrency"}},
		"an interval without unit":   {minimal + `sweepInterval: "60"`, helm, []string{"/sweepInterval"}},
		"another grace period":       {minimal + "orphanGracePeriod: always", helm, []string{"/orphanGracePeriod"}},
		"a port of 0":                {minimal + "healthPort: 0", helm, []string{"/healthPort"}},
		"a digest as a tag":          {strings.Replace(minimal, "tag: v1", "digest: v1", 1), helm, []string{"/image/digest"}},
		"an argument without dash":   {minimal + "extraArgs: [v=4]", helm, []string{"/extraArgs/0"}},
		"a carriage return":          {withConf(`global: {password: "hunter\r2"}`), helm, []string{"cloudConfig.global.password contains a carriage return"}},
		"no ServiceAccount":          {minimal + "serviceAccount: {create: false}", helm, []string{"set serviceAccount.name"}},
		"a long name":                {strings.Replace(minimal, "clusterName: ", "clusterName: "+strings.Repeat("a", 241)+" #", 1), helm, []string{"clusterName has more than 240 bytes"}},
		"one port for two":           {minimal + "metrics: {port: 8081}", helm, []string{"metrics.port and healthPort are both 8081"}},
		"routes of no Pods":          {minimal + "controllers: [service, route]", helm, []string{"set clusterCIDR", "10.244.0.0/16"}},
		"ranges of one family":       {minimal + "clusterCIDR: [10.0.0.0/16, 10.1.0.0/16]", helm, []string{"two address ranges of one IP family"}},
		"an address as a range":      {minimal + "clusterCIDR: [10.0.0.1]", helm, []string{`clusterCIDR has "10.0.0.1"`, "such as 10.244.0.0/16"}},
		"a long range":               {minimal + "clusterCIDR: [10.0.0.0/33]", helm, []string{`clusterCIDR has "10.0.0.0/33"`}},
		"no range":                   {minimal + "clusterCIDR: [banana]", helm, []string{`clusterCIDR has "banana"`, "not an address range"}},
		"both families in one text":  {minimal + "clusterCIDR: ['10.0.0.0/16,fd00:1::/56']", helm, nil},
		"both families":              {minimal + "clusterCIDR: [10.0.0.0/16, 'fd00:1::/56']", helm, nil},
		"routes without a router":    {withConf("route: {}") + "controllers: [route]\nclusterCIDR: [10.0.0.0/16]", helm, []string{"set cloudConfig.route.router-id"}},
		"nothing to do":              {withConf("loadBalancer: {enabled: false}"), helm, []string{"cloudConfig.loadBalancer.enabled is false", "remove service from controllers"}},
		"only Nodes":                 {withConf("loadBalancer: {enabled: false}") + "controllers: [node]", helm, nil},
		"no address":                 {withConf("global: {username: a, domain-name: b, password: hunter2}"), helm, []string{"set cloudConfig.global.auth-url"}},
		"an address without scheme":  {withConf("global: {auth-url: 'keystone:5000', username: a, domain-name: b, password: hunter2}"), helm, []string{"auth-url is not an http or https address"}},
		"no credentials":             {withConf("global: {auth-url: 'https://k/v3'}"), helm, []string{"no credentials in cloudConfig.global", "application-credential-id"}},
		"half a credential":          {withConf("global: {auth-url: 'https://k/v3', application-credential-id: a}"), helm, []string{"without application-credential-secret"}},
		"the other half":             {withConf("global: {auth-url: 'https://k/v3', application-credential-secret: hunter2}"), helm, []string{"application-credential-secret needs application-credential-id"}},
		"whose credential":           {withConf("global: {auth-url: 'https://k/v3', application-credential-name: a, application-credential-secret: hunter2}"), helm, []string{"application-credential-name needs user-id or username"}},
		"whose password":             {withConf("global: {auth-url: 'https://k/v3', password: hunter2}"), helm, []string{"password needs username or user-id"}},
		"a user of which domain":     {withConf("global: {auth-url: 'https://k/v3', username: a, password: hunter2}"), helm, []string{"username needs a domain", "Default"}},
		"a trust without password":   {withConf("global: {auth-url: 'https://k/v3', trust-id: a, trustee-id: b}"), helm, []string{"trust-id needs trustee-password"}},
		"a trust without a trustee":  {withConf("global: {auth-url: 'https://k/v3', trust-id: a, trustee-password: hunter2}"), helm, []string{"trust-id needs trustee-id"}},
		"no file of clouds":          {withConf("global: {use-clouds: true, cloud: a}"), helm, []string{"use-clouds needs the file", "cloudConfig.files"}},
		"another file of clouds":     {withConf("global: {use-clouds: true, clouds-file: /etc/kube-octavia/clouds.yaml}"), helm, []string{"cloudConfig.files has no clouds.yaml"}},
		"clouds":                     {withConf("global: {use-clouds: true, clouds-file: /etc/kube-octavia/clouds.yaml}\n  files: {clouds.yaml: a}"), helm, nil},
		"no certificate":             {withConf("global: {auth-url: 'https://k/v3', user-id: a, password: hunter2, ca-file: /etc/kube-octavia/ca.crt}"), helm, []string{"ca-file is /etc/kube-octavia/ca.crt", "cloudConfig.files has no ca.crt"}},
		"a certificate of the image": {withConf("global: {auth-url: 'https://k/v3', user-id: a, password: hunter2, ca-file: /etc/ssl/ca.crt}"), helm, nil},
		"policy for hostNetwork":     {minimal + "networkPolicy: {enabled: true}\nhostNetwork: true", helm, []string{"networkPolicy.enabled has no effect with hostNetwork"}},
		"old Kubernetes, policy":     {minimal + "admissionPolicy: {enabled: true}", older, []string{"admissionPolicy.enabled needs Kubernetes 1.30", "1.29.3"}},
		"old Kubernetes, gates":      {minimal + "podReadinessGates: {enabled: true}", older, []string{"podReadinessGates.policy needs Kubernetes 1.36", "1.29.3"}},
		"old Kubernetes, no policy":  {minimal + "podReadinessGates: {enabled: true, policy: false}", older, nil},
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

// withConf returns values with a part of cloudConfig.
func withConf(part string) string {
	global := ""
	if !strings.HasPrefix(part, "global:") {
		global = "  global: {auth-url: https://keystone.example.com/v3, application-credential-id: a, application-credential-secret: hunter2}\n"
	}
	return "clusterName: prod\nimage: {repository: a}\ncloudConfig:\n" + global + "  " + part + "\n"
}
