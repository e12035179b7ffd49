{{/*
Copyright The kube-octavia Authors.
SPDX-License-Identifier: Apache-2.0
*/}}

{{/* Fails if the program would refuse to start with the values, or could not work with them. */}}
{{- define "kube-octavia.checks" -}}
{{- include "kube-octavia.checkFlags" . }}
{{- if .Values.cloudConfig.global }}
{{- include "kube-octavia.checkAddress" .Values.cloudConfig.global }}
{{- include "kube-octavia.checkLogin" .Values.cloudConfig.global }}
{{- include "kube-octavia.checkFiles" . }}
{{- include "kube-octavia.checkSections" . }}
{{- end }}
{{- end }}

{{- define "kube-octavia.checkFlags" -}}
{{- if gt (len .Values.clusterName) 240 }}
{{- fail "clusterName has more than 240 bytes: all load balancers would have the same name" }}
{{- end }}
{{- if eq (int64 .Values.metrics.port) (int64 .Values.healthPort) }}
{{- fail (printf "metrics.port and healthPort are both %d: the controller cannot listen twice on one port" (int64 .Values.healthPort)) }}
{{- end }}
{{- if and (has "route" .Values.controllers) (not .Values.clusterCIDR) }}
{{- fail "set clusterCIDR: controller route needs the address ranges of all Pods, such as [10.244.0.0/16], as in --cluster-cidr of kube-controller-manager" }}
{{- end }}
{{- range compact (splitList "," (join "," .Values.clusterCIDR)) }}
{{- if not (regexMatch "^([0-9]{1,3}(\\.[0-9]{1,3}){3}/([0-9]|[12][0-9]|3[0-2])|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*/([0-9]{1,2}|1[01][0-9]|12[0-8]))$" .) }}
{{- fail (printf "clusterCIDR has %q, which is not an address range of IPv4 or IPv6, such as 10.244.0.0/16 or fd00:10:244::/56" .) }}
{{- end }}
{{- end }}
{{- if eq (len .Values.clusterCIDR) 2 }}
{{- if eq (contains ":" (first .Values.clusterCIDR)) (contains ":" (last .Values.clusterCIDR)) }}
{{- fail "clusterCIDR has two address ranges of one IP family: there may be one of each" }}
{{- end }}
{{- end }}
{{- end }}

{{/* It takes [Global]. clouds.yaml has the address itself. */}}
{{- define "kube-octavia.checkAddress" -}}
{{- if not (index . "use-clouds") }}
{{- $address := index . "auth-url" | default "" }}
{{- if not $address }}
{{- fail "set cloudConfig.global.auth-url to the address of Keystone, such as https://keystone.example.com:5000/v3" }}
{{- else if not (regexMatch "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#]" $address) }}
{{- fail "cloudConfig.global.auth-url is not an http or https address, such as https://keystone.example.com:5000/v3" }}
{{- end }}
{{- end }}
{{- end }}

{{/* It takes [Global]. The values are not shown: one may be a password. */}}
{{- define "kube-octavia.checkLogin" -}}
{{- $user := or (index . "user-id") .username }}
{{- $application := or (index . "application-credential-id") (index . "application-credential-name") }}
{{- $secret := index . "application-credential-secret" }}
{{- if index . "use-clouds" }}
{{- else if and $application (not $secret) }}
{{- fail "cloudConfig.global has an application credential without application-credential-secret" }}
{{- else if and $secret (not $application) }}
{{- fail "cloudConfig.global.application-credential-secret needs application-credential-id, or application-credential-name and the user" }}
{{- else if and $secret (not (index . "application-credential-id")) (not $user) }}
{{- fail "cloudConfig.global.application-credential-name needs user-id or username: names of application credentials are those of a user" }}
{{- else if and $secret (not (index . "application-credential-id")) }}
{{- include "kube-octavia.checkDomainOfUser" . }}
{{- else if $secret }}
{{- else if index . "trust-id" }}
{{- if not (or (index . "trustee-password") .password) }}
{{- fail "cloudConfig.global.trust-id needs trustee-password" }}
{{- else if not (or (index . "trustee-id") $user) }}
{{- fail "cloudConfig.global.trust-id needs trustee-id" }}
{{- else if not (index . "trustee-id") }}
{{- include "kube-octavia.checkDomainOfUser" . }}
{{- end }}
{{- else if .token }}
{{- else if not .password }}
{{- fail "there are no credentials in cloudConfig.global: set application-credential-id and application-credential-secret, or username, user-domain-name and password, or use-clouds" }}
{{- else if not $user }}
{{- fail "cloudConfig.global.password needs username or user-id" }}
{{- else }}
{{- include "kube-octavia.checkDomainOfUser" . }}
{{- end }}
{{- end }}

{{/* It takes [Global] with a user, whose id needs no domain. */}}
{{- define "kube-octavia.checkDomainOfUser" -}}
{{- if not (or (index . "user-id") (index . "user-domain-name") (index . "user-domain-id") (index . "domain-name") (index . "domain-id")) }}
{{- fail "cloudConfig.global.username needs a domain: set user-domain-name, which is Default in many clouds" }}
{{- end }}
{{- end }}

{{/* Files in the Secret of the chart must be in cloudConfig.files. Others can come from extraVolumes. */}}
{{- define "kube-octavia.checkFiles" -}}
{{- $config := .Values.cloudConfig }}
{{- range $key := list "ca-file" "cert-file" "key-file" "clouds-file" }}
{{- $path := index $config.global $key | default "" }}
{{- if and (eq (dir $path) "/etc/kube-octavia") (not (hasKey $config.files (base $path))) }}
{{- fail (printf "cloudConfig.global.%s is %s, and cloudConfig.files has no %s: add it there" $key $path (base $path)) }}
{{- end }}
{{- end }}
{{- if and (index $config.global "use-clouds") (not (index $config.global "clouds-file")) (not .Values.extraVolumeMounts) (not .Values.extraEnv) }}
{{- fail "cloudConfig.global.use-clouds needs the file: put clouds.yaml into cloudConfig.files, and set clouds-file: /etc/kube-octavia/clouds.yaml" }}
{{- end }}
{{- end }}

{{/* What the controllers need of other sections. */}}
{{- define "kube-octavia.checkSections" -}}
{{- $config := .Values.cloudConfig }}
{{- if and (has "route" .Values.controllers) (not (index $config.route "router-id")) }}
{{- fail "set cloudConfig.route.router-id: controller route needs the id of the router between the networks of the Nodes" }}
{{- end }}
{{- if and (has "service" .Values.controllers) (eq (toString (index $config.loadBalancer "enabled")) "false") }}
{{- fail "cloudConfig.loadBalancer.enabled is false, so controller service has nothing to do: remove service from controllers" }}
{{- end }}
{{- end }}
