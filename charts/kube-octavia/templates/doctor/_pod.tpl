{{/*
Copyright The kube-octavia Authors.
SPDX-License-Identifier: Apache-2.0
*/}}

{{/*
The spec of a Job that runs `kube-octavia doctor`, with the ServiceAccount, the configuration and the node of the
controller's Pods. Its Pods do not have the labels by which those are selected.
*/}}
{{- define "kube-octavia.doctor.job" -}}
# Do not retry after a report with errors.
backoffLimit: 0
ttlSecondsAfterFinished: 86400
template:
  metadata:
    labels:
      {{- include "kube-octavia.doctor.selectorLabels" . | nindent 6 }}
  spec:
    restartPolicy: Never
    serviceAccountName: {{ include "kube-octavia.serviceAccountName" . }}
    automountServiceAccountToken: true
    enableServiceLinks: false
    {{- with .Values.imagePullSecrets }}
    imagePullSecrets:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- if .Values.hostNetwork }}
    hostNetwork: true
    {{- end }}
    {{- with default (.Values.hostNetwork | ternary "ClusterFirstWithHostNet" "") .Values.dnsPolicy }}
    dnsPolicy: {{ . }}
    {{- end }}
    {{- with .Values.dnsConfig }}
    dnsConfig:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .Values.podSecurityContext }}
    securityContext:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    containers:
    - name: doctor
      image: {{ include "kube-octavia.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
      - doctor
      - --cloud-config=/etc/kube-octavia/{{ include "kube-octavia.cloudConfigKey" . }}
      - --cluster-name={{ .Values.clusterName }}
      - --load-balancer-class={{ .Values.loadBalancerClass }}
      - --handle-default-class={{ .Values.handleDefaultClass }}
      - --leader-elect-resource-namespace={{ .Release.Namespace }}
      - --leader-elect-resource-name={{ include "kube-octavia.fullname" . }}
      {{- with fromYamlArray (include "kube-octavia.controllerArgs" .) }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      {{- with .Values.doctor.extraArgs }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      {{- with .Values.extraEnv }}
      env:
      {{- toYaml . | nindent 6 }}
      {{- end }}
      {{- with .Values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.securityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
      - name: cloud-config
        mountPath: /etc/kube-octavia
        readOnly: true
      {{- with .Values.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    volumes:
    - name: cloud-config
      secret:
        secretName: {{ include "kube-octavia.secretName" . }}
        defaultMode: 0440
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with .Values.nodeSelector }}
    nodeSelector:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with include "kube-octavia.controllerTolerations" . }}
    tolerations:
      {{- . | nindent 6 }}
    {{- end }}
{{- end }}

{{- define "kube-octavia.doctor.selectorLabels" -}}
app.kubernetes.io/name: {{ include "kube-octavia.name" . | trunc 56 | trimSuffix "-" }}-doctor
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
