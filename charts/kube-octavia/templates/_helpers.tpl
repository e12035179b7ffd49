{{/*
Copyright The kube-octavia Authors.
SPDX-License-Identifier: Apache-2.0
*/}}

{{/* The value of label app.kubernetes.io/name. */}}
{{- define "kube-octavia.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/*
The name of the objects and of the Lease. The longest suffix, -readiness-gates, fits behind it. Names of releases may
contain dots, those of Services may not.
*/}}
{{- define "kube-octavia.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- $fullname := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) }}
{{- default $fullname .Values.fullnameOverride | replace "." "-" | trunc 47 | trimSuffix "-" }}
{{- end }}

{{/*
The name of an object without a namespace: no two releases share it. It takes the context and the suffix of
the name. Names of namespaces contain no dot, so both forms differ.
*/}}
{{- define "kube-octavia.clusterScopedName" -}}
{{- $context := index . 0 }}
{{- $fullname := include "kube-octavia.fullname" $context }}
{{- $fullname }}{{ index . 1 }}
{{- if ne $fullname $context.Release.Namespace }}.{{ $context.Release.Namespace }}{{ end }}
{{- end }}

{{/* The labels by which the Pods of the release are selected. */}}
{{- define "kube-octavia.selectorLabels" -}}
app.kubernetes.io/name: {{ include "kube-octavia.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* The labels of all objects. */}}
{{- define "kube-octavia.labels" -}}
{{- include "kube-octavia.selectorLabels" . }}
{{- if eq .Release.Service "Helm" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: Helm
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "kube-octavia.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "kube-octavia.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- required "serviceAccount.create is false: set serviceAccount.name to an existing ServiceAccount" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* The ServiceAccount as the only subject of a binding. */}}
{{- define "kube-octavia.subjects" -}}
- kind: ServiceAccount
  name: {{ include "kube-octavia.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{- define "kube-octavia.image" -}}
{{- $repository := required "set image.repository: no image is published yet. Build one with make image, and push it to a registry that your nodes can reach" .Values.image.repository }}
{{- if .Values.image.digest }}
{{- printf "%s@%s" $repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" $repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* "true" if one of the controllers of Nodes runs. */}}
{{- define "kube-octavia.runsNodeControllers" -}}
{{- if without .Values.controllers "service" }}true{{ end }}
{{- end }}

{{/*
The tolerations of the controller, as a list. Only kube-octavia removes the taint of a Node that is not initialized, so it
must start there. Before the network of the cluster is there, Nodes are not ready either; only Pods in the network of the
nodes can start then. And only kube-octavia removes the taint of Nodes without a route, such as all of them if router-id is
wrong.
*/}}
{{- define "kube-octavia.controllerTolerations" -}}
{{- $tolerations := .Values.tolerations }}
{{- if include "kube-octavia.runsNodeControllers" . }}
{{- $tolerations = append $tolerations (dict "key" "node.cloudprovider.kubernetes.io/uninitialized" "operator" "Exists" "effect" "NoSchedule") }}
{{- if .Values.hostNetwork }}
{{- $tolerations = append $tolerations (dict "key" "node.kubernetes.io/not-ready" "operator" "Exists" "effect" "NoSchedule") }}
{{- end }}
{{- end }}
{{- if has "route" .Values.controllers }}
{{- $tolerations = append $tolerations (dict "key" "node.kubernetes.io/network-unavailable" "operator" "Exists" "effect" "NoSchedule") }}
{{- end }}
{{- with $tolerations }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{/* The arguments that say which controllers run, as a list. */}}
{{- define "kube-octavia.controllerArgs" -}}
{{- $args := list }}
{{- if ne (join "," .Values.controllers) "service" }}
{{- $args = append $args (printf "--controllers=%s" (join "," .Values.controllers)) }}
{{- end }}
{{- if has "route" .Values.controllers }}
{{- $args = append $args (printf "--cluster-cidr=%s" (join "," .Values.clusterCIDR)) }}
{{- end }}
{{- toYaml $args }}
{{- end }}

{{/* The arguments of the container, as a list. */}}
{{- define "kube-octavia.args" -}}
{{- $args := list "controller"
  (printf "--cloud-config=/etc/kube-octavia/%s" (include "kube-octavia.cloudConfigKey" .))
  (printf "--cloud-config-secret=%s" (include "kube-octavia.secretName" .))
  (printf "--cluster-name=%s" (required "set clusterName: it is part of the names of load balancers, and cannot be changed later. After a migration it is --cluster-name of openstack-cloud-controller-manager, whose default is kubernetes" .Values.clusterName))
  (printf "--adopt=%s" .Values.adopt)
  (printf "--load-balancer-class=%s" .Values.loadBalancerClass)
  (printf "--handle-default-class=%t" .Values.handleDefaultClass)
  (printf "--concurrency=%d" (int64 .Values.concurrency))
  (printf "--sweep-interval=%s" .Values.sweepInterval)
  (printf "--orphan-grace-period=%s" .Values.orphanGracePeriod)
  (printf "--cloud-rate=%v" .Values.cloudRate)
  (printf "--cloud-burst=%d" (int64 .Values.cloudBurst))
  (printf "--leader-elect-resource-name=%s" (include "kube-octavia.fullname" .))
  (printf "--metrics-bind-address=:%d" (int64 .Values.metrics.port))
  (printf "--health-probe-bind-address=:%d" (int64 .Values.healthPort))
  (printf "--log-format=%s" .Values.log.format)
  (printf "--v=%d" (int64 .Values.log.level)) }}
{{- $args = concat $args (fromYamlArray (include "kube-octavia.controllerArgs" .)) }}
{{- if .Values.podReadinessGates.enabled }}
{{- $args = append $args "--pod-readiness-gates" }}
{{- end }}
{{- toYaml (concat $args .Values.extraArgs) }}
{{- end }}

{{/* The arguments of the container of the Job, as a list. Of extraArgs, only --kubeconfig is for it too. */}}
{{- define "kube-octavia.drainArgs" -}}
{{- $args := list "cleanup" "--drain" "--delete"
  (printf "--scale-down=%s" (include "kube-octavia.fullname" .))
  (printf "--cloud-config=/etc/kube-octavia/%s" (include "kube-octavia.cloudConfigKey" .))
  (printf "--cluster-name=%s" .Values.clusterName)
  (printf "--load-balancer-class=%s" .Values.loadBalancerClass)
  (printf "--handle-default-class=%t" .Values.handleDefaultClass)
  (printf "--cloud-rate=%v" .Values.cloudRate)
  (printf "--cloud-burst=%d" (int64 .Values.cloudBurst))
  (printf "--leader-elect-resource-name=%s" (include "kube-octavia.fullname" .))
  (printf "--log-format=%s" .Values.log.format)
  (printf "--v=%d" (int64 .Values.log.level)) }}
{{- range .Values.extraArgs }}
{{- if hasPrefix "--kubeconfig=" . }}
{{- $args = append $args . }}
{{- end }}
{{- end }}
{{- toYaml $args }}
{{- end }}

{{/* The name of the objects of the topology page. */}}
{{- define "kube-octavia.uiName" -}}
{{- include "kube-octavia.fullname" . }}-ui
{{- end }}

{{/* The labels by which the Pod of the topology page is selected. They are not those of the controller's Pods. */}}
{{- define "kube-octavia.uiSelectorLabels" -}}
app.kubernetes.io/name: {{ include "kube-octavia.name" . | trunc 60 | trimSuffix "-" }}-ui
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* The labels of all objects of the topology page. */}}
{{- define "kube-octavia.uiLabels" -}}
{{- include "kube-octavia.uiSelectorLabels" . }}
{{- if eq .Release.Service "Helm" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: Helm
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The arguments of the container of the topology page, as a list. */}}
{{- define "kube-octavia.uiArgs" -}}
{{- $args := list "ui"
  (printf "--address=:%d" (int64 .Values.ui.port))
  "--authentication=token"
  (printf "--cloud-config=/etc/kube-octavia/%s" (include "kube-octavia.cloudConfigKey" .))
  (printf "--cluster-name=%s" .Values.clusterName)
  (printf "--adopt=%s" .Values.adopt)
  (printf "--load-balancer-class=%s" .Values.loadBalancerClass)
  (printf "--handle-default-class=%t" .Values.handleDefaultClass)
  (printf "--refresh-interval=%s" .Values.ui.refreshInterval)
  (printf "--log-format=%s" .Values.log.format)
  (printf "--v=%d" (int64 .Values.log.level)) }}
{{- if .Values.ui.tlsSecret }}
{{- $args = concat $args (list "--tls-cert-file=/etc/kube-octavia-tls/tls.crt" "--tls-private-key-file=/etc/kube-octavia-tls/tls.key") }}
{{- end }}
{{- toYaml $args }}
{{- end }}

{{/* The traffic to DNS, the API server and OpenStack, as egress of a NetworkPolicy. */}}
{{- define "kube-octavia.egress" -}}
# DNS.
- ports:
  - port: 53
    protocol: UDP
  - port: 53
    protocol: TCP
  {{- with .Values.networkPolicy.dnsTo }}
  to:
  {{- toYaml . | nindent 2 }}
  {{- end }}
# The API server.
- ports:
  {{- range .Values.networkPolicy.apiServerPorts }}
  - port: {{ int64 . }}
  {{- end }}
  {{- with .Values.networkPolicy.apiServerTo }}
  to:
  {{- toYaml . | nindent 2 }}
  {{- end }}
# OpenStack.
- ports:
  {{- range .Values.networkPolicy.cloudPorts }}
  - port: {{ int64 . }}
  {{- end }}
  {{- with .Values.networkPolicy.cloudTo }}
  to:
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* The affinity of the Pods; empty if there is none. */}}
{{- define "kube-octavia.affinity" -}}
{{- if .Values.affinity }}
{{- toYaml .Values.affinity }}
{{- else }}
{{- if eq .Values.controlPlaneAffinity "required" -}}
nodeAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    nodeSelectorTerms:
    - matchExpressions:
      - key: node-role.kubernetes.io/control-plane
        operator: Exists
{{ else if eq .Values.controlPlaneAffinity "preferred" -}}
nodeAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
  - weight: 100
    preference:
      matchExpressions:
      - key: node-role.kubernetes.io/control-plane
        operator: Exists
{{ end }}
{{- if eq .Values.podAntiAffinity "required" -}}
podAntiAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
  - topologyKey: kubernetes.io/hostname
    labelSelector:
      matchLabels:
        {{- include "kube-octavia.selectorLabels" . | nindent 8 }}
{{- else if eq .Values.podAntiAffinity "preferred" -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
  - weight: 100
    podAffinityTerm:
      topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels:
          {{- include "kube-octavia.selectorLabels" . | nindent 10 }}
{{- end }}
{{- end }}
{{- end }}

{{/* The topology spread constraints of the Pods; empty if there are none. */}}
{{- define "kube-octavia.topologySpreadConstraints" -}}
{{- $selector := dict "labelSelector" (dict "matchLabels" (include "kube-octavia.selectorLabels" . | fromYaml)) }}
{{- $all := list }}
{{- range .Values.topologySpreadConstraints }}
{{- $all = append $all (hasKey . "labelSelector" | ternary . (merge (deepCopy .) $selector)) }}
{{- end }}
{{- if $all }}{{ toYaml $all }}{{ end }}
{{- end }}

{{/* A condition in CEL: the Service, which is the variable of this name, is of a class that the release handles. */}}
{{- define "kube-octavia.handlesClass" -}}
{{- $context := index . 0 }}
{{- $service := index . 1 }}
{{- if $context.Values.handleDefaultClass -}}
!has({{ $service }}.spec.loadBalancerClass) || {{ $service }}.spec.loadBalancerClass == {{ $context.Values.loadBalancerClass | quote }}
{{- else -}}
{{ $service }}.spec.?loadBalancerClass.orValue("") == {{ $context.Values.loadBalancerClass | quote }}
{{- end }}
{{- end }}

{{/* What the Pods of the Deployment and of the Job have in common: account and network. */}}
{{- define "kube-octavia.podSettings" -}}
serviceAccountName: {{ include "kube-octavia.serviceAccountName" . }}
automountServiceAccountToken: true
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 0 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- if .Values.hostNetwork }}
hostNetwork: true
{{- end }}
{{- with default (.Values.hostNetwork | ternary "ClusterFirstWithHostNet" "") .Values.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .Values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The same of their containers: limits and files. */}}
{{- define "kube-octavia.containerSettings" -}}
{{- with .Values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
# The whole directory: a single file (subPath) would never be updated.
- name: cloud-config
  mountPath: /etc/kube-octavia
  readOnly: true
{{- with .Values.extraVolumeMounts }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* The same of their volumes and nodes. */}}
{{- define "kube-octavia.podPlacement" -}}
volumes:
- name: cloud-config
  secret:
    secretName: {{ include "kube-octavia.secretName" . }}
    defaultMode: 0440
{{- with .Values.extraVolumes }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
