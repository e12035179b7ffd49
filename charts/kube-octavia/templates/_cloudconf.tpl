{{/*
Copyright The kube-octavia Authors.
SPDX-License-Identifier: Apache-2.0
*/}}

{{/*
The name of the Secret with cloud.conf. Fails unless either cloudConfig.existingSecret or cloudConfig.global is set:
a Pod without its configuration would never start.
*/}}
{{- define "kube-octavia.secretName" -}}
{{- $config := .Values.cloudConfig }}
{{- if $config.existingSecret }}
{{- range $name := list "global" "loadBalancer" "loadBalancerClasses" "loadBalancerProviders" "clusterIP" "networking" "route" "metadata" "files" }}
{{- if index $config $name }}
{{- fail (printf "cloudConfig.existingSecret and cloudConfig.%s are both set: put the whole configuration into one of them" $name) }}
{{- end }}
{{- end }}
{{- $config.existingSecret }}
{{- else if $config.global }}
{{- include "kube-octavia.fullname" . }}-cloud-config
{{- else }}
{{- fail "there is no configuration of the cloud: set cloudConfig.existingSecret to a Secret with cloud.conf, or cloudConfig.global, such as auth-url and the credentials" }}
{{- end }}
{{- end }}

{{/* The key of that Secret with the configuration. */}}
{{- define "kube-octavia.cloudConfigKey" -}}
{{- if .Values.cloudConfig.existingSecret }}{{ .Values.cloudConfig.key }}{{ else }}cloud.conf{{ end }}
{{- end }}

{{/*
A value in the syntax of cloud.conf. Text is in quotes, in which \ and " have a \ before them. What the syntax
cannot express fails, without the value, which may be a password. It takes the path of the value and the value.
*/}}
{{- define "kube-octavia.conf.value" -}}
{{- $value := index . 1 }}
{{- if kindIs "string" $value }}
{{- if regexMatch "[\\x00\\r\\x{feff}]" $value }}
{{- fail (printf "%s contains a carriage return, a NUL or a byte order mark, which cloud.conf cannot contain" (index . 0)) }}
{{- end -}}
"{{ $value | replace "\\" "\\\\" | replace "\"" "\\\"" | replace "\n" "\\n" | replace "\t" "\\t" }}"
{{- else if kindIs "bool" $value }}
{{- $value }}
{{- else }}
{{- int64 $value }}
{{- end }}
{{- end }}

{{/* The keys of a section, one each line. It takes the path of the section and the section. */}}
{{- define "kube-octavia.conf.keys" -}}
{{- $path := index . 0 }}
{{- range $key, $value := index . 1 }}
{{- $of := printf "%s.%s" $path $key }}
{{- if kindIs "slice" $value }}
{{- range $value }}
{{ $key }} = {{ include "kube-octavia.conf.value" (list $of .) }}
{{- end }}
{{- else if not (kindIs "invalid" $value) }}
{{ $key }} = {{ include "kube-octavia.conf.value" (list $of $value) }}
{{- end }}
{{- end }}
{{- end }}

{{/* All sections except [Global]. */}}
{{- define "kube-octavia.conf.otherSections" -}}
{{- $config := .Values.cloudConfig }}
{{- range $name, $section := dict "ClusterIP" "clusterIP" "LoadBalancer" "loadBalancer" "Metadata" "metadata" "Networking" "networking" "Route" "route" }}
{{- with index $config $section }}

[{{ $name }}]
{{- include "kube-octavia.conf.keys" (list (printf "cloudConfig.%s" $section) .) }}
{{- end }}
{{- end }}
{{- range $name, $sections := dict "LoadBalancerClass" "loadBalancerClasses" "LoadBalancerProvider" "loadBalancerProviders" }}
{{- range $of, $keys := index $config $sections }}

[{{ $name }} {{ include "kube-octavia.conf.value" (list (printf "cloudConfig.%s" $sections) $of) }}]
{{- include "kube-octavia.conf.keys" (list (printf "cloudConfig.%s.%s" $sections $of) $keys) }}
{{- end }}
{{- end }}
{{- end }}

{{/* cloud.conf from cloudConfig. */}}
{{- define "kube-octavia.conf" -}}
[Global]
{{- include "kube-octavia.conf.keys" (list "cloudConfig.global" .Values.cloudConfig.global) }}
{{- include "kube-octavia.conf.otherSections" . }}
{{ end }}

{{/*
A checksum of what the controller reads only at its start. It reloads the other keys of [Global], and the files, by
itself, so that new credentials need no restart.
*/}}
{{- define "kube-octavia.conf.restartChecksum" -}}
{{- $start := pick .Values.cloudConfig.global "auth-url" "region" "os-endpoint-type" "network-endpoint-override" "load-balancer-endpoint-override" "compute-endpoint-override" "key-manager-endpoint-override" }}
{{- printf "%s%s" (include "kube-octavia.conf.keys" (list "cloudConfig.global" $start)) (include "kube-octavia.conf.otherSections" .) | sha256sum }}
{{- end }}
