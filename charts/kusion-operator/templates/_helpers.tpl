{{- define "kusion-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "kusion-operator.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "kusion-operator.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "kusion-operator.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* Names of cluster-scoped objects contain the namespace, so that releases of the same name in
several namespaces do not collide. */}}
{{- define "kusion-operator.clusterName" -}}
{{- printf "%s:%s" .Release.Namespace (include "kusion-operator.fullname" .) }}
{{- end }}

{{- define "kusion-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "kusion-operator.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "kusion-operator.labels" -}}
{{ include "kusion-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: controller
app.kubernetes.io/part-of: kusion
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "kusion-operator.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "kusion-operator.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "kusion-operator.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* A ServiceAccount as the subject of a binding. */}}
{{- define "kusion-operator.subject" -}}
kind: ServiceAccount
name: {{ include "kusion-operator.serviceAccountName" . | quote }}
namespace: {{ .Release.Namespace | quote }}
{{- end }}

{{/* What the operator's Pods and the Pod of `helm test` share: with it, both meet the restricted Pod
Security Standard. */}}
{{- define "kusion-operator.podSettings" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if or .Values.terraform.providers .Values.state.volume .Values.state.secrets .Values.state.kms (include "kusion-operator.hasSecretStoreFiles" .) }}
volumes:
{{- end }}
{{- if include "kusion-operator.hasSecretStoreFiles" . }}
- name: secret-stores
  configMap:
    name: {{ include "kusion-operator.secretStoreFilesName" . | quote }}
{{- end }}
{{- with .Values.state.volume }}
- name: state
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- range .Values.state.secrets }}
- name: {{ printf "state-%s" . | quote }}
  secret:
    secretName: {{ . | quote }}
    defaultMode: 0440
{{- end }}
{{- if .Values.state.kms }}
- name: kms
  emptyDir: {}
{{- end }}
{{- if .Values.terraform.providers }}
{{- with .Values.terraform.pluginVolume }}
- name: terraform-providers
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.terraform.cacheVolume }}
- name: terraform-cache
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if include "kusion-operator.hasTerraformFiles" . }}
- name: terraform-files
  configMap:
    name: {{ include "kusion-operator.terraformFilesName" . | quote }}
{{- end }}
- name: temporary
  emptyDir: {}
{{- end }}
{{- end }}

{{/* What the operator reads from files, in a ConfigMap. */}}
{{- define "kusion-operator.terraformFilesName" -}}
{{ printf "%s-terraform" (include "kusion-operator.fullname" . | trunc 53 | trimSuffix "-") }}
{{- end }}

{{- define "kusion-operator.hasTerraformFiles" -}}
{{- with .Values.terraform }}{{ if and .providers (or .caBundle .lockFile) }}true{{ end }}{{ end }}
{{- end }}

{{- define "kusion-operator.terraformFiles" -}}
{{- with .Values.terraform.caBundle }}
ca.pem: {{ quote . }}
{{- end }}
{{- with .Values.terraform.lockFile }}
terraform.lock.hcl: {{ quote . }}
{{- end }}
{{- end }}

{{- define "kusion-operator.secretStoreFilesName" -}}
{{ printf "%s-secret-stores" (include "kusion-operator.fullname" . | trunc 49 | trimSuffix "-") }}
{{- end }}

{{- define "kusion-operator.hasSecretStoreFiles" -}}
{{- with .Values.secretStores }}{{ if and .hosts .caBundle }}true{{ end }}{{ end }}
{{- end }}

{{/* Where the operator and the KMS plugin meet. */}}
{{- define "kusion-operator.kmsMount" -}}
{name: kms, mountPath: /run/kms}
{{- end }}

{{/* The container of the KMS plugin: what state.kms has, and what every container here has. */}}
{{- define "kusion-operator.kmsContainer" -}}
{{- $mount := include "kusion-operator.kmsMount" . | fromYaml }}
{{- $ours := dict "name" "kms" "securityContext" (dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL"))) }}
{{- $mounts := append (default list .Values.state.kms.volumeMounts) $mount }}
{{- toYaml (mergeOverwrite $ours (deepCopy .Values.state.kms) (dict "volumeMounts" $mounts)) }}
{{- end }}

{{/* The same of their containers: image, arguments, environment. */}}
{{- define "kusion-operator.program" -}}
image: {{ include "kusion-operator.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args:
- --leader-elect={{ .Values.leaderElection }}
- --state-namespace=$(POD_NAMESPACE)
- --metrics-bind-address=:{{ .Values.metrics.port }}
- --health-bind-address=:{{ .Values.health.port }}
- --log-level={{ .Values.controller.logLevel }}
- --log-format={{ .Values.controller.logFormat }}
- --drain-timeout={{ max 1 (sub (int .Values.terminationGracePeriodSeconds) 5) }}s
{{- with .Values.controller }}
{{- with .watchNamespace }}
- --watch-namespace={{ . }}
{{- end }}
{{- with .watchLabelSelector }}
- {{ printf "--watch-label-selector=%s" . | quote }}
{{- end }}
{{- with .defaultServiceAccount }}
- --default-service-account={{ . }}
{{- end }}
{{- if .actAsController }}
- --act-as-controller
{{- end }}
{{- with .concurrent }}
- --concurrent={{ int . }}
{{- end }}
{{- with .operationMemory }}
- --operation-memory={{ . }}
{{- end }}
{{- with .maxTimeout }}
- --max-timeout={{ . }}
{{- end }}
{{- with .minInterval }}
- --min-interval={{ . }}
{{- end }}
{{- with .minRetryInterval }}
- --min-retry-interval={{ . }}
{{- end }}
{{- with .verifyInterval }}
- --verify-interval={{ . }}
{{- end }}
{{- with .previewHistoryLimit }}
- --preview-history-limit={{ int . }}
{{- end }}
{{- with .previewTtl }}
- --preview-ttl={{ . }}
{{- end }}
{{- with .stuckTimeout }}
- --stuck-timeout={{ . }}
{{- end }}
{{- end }}
{{- with .Values.state.backend }}
- {{ printf "--state-backend=%s" . | quote }}
{{- end }}
{{- with .Values.state.key }}
- {{ printf "--state-key=%s" . | quote }}
{{- end }}
{{- with .Values.state.encryption }}
- --state-encryption={{ . }}
{{- end }}
{{- with .Values.state.accept }}
- --accept-store={{ . }}
{{- end }}
{{- range .Values.http.hosts }}
- {{ printf "--http-host=%s" . | quote }}
{{- end }}
{{- range .Values.terraform.providers }}
- {{ printf "--terraform-provider=%s" . | quote }}
{{- end }}
{{- if .Values.terraform.providers }}
{{- with .Values.terraform }}
{{- if .pluginVolume }}
- --terraform-plugin-dir=/terraform/providers
{{- end }}
{{- with .networkMirror }}
- {{ printf "--terraform-network-mirror=%s" . | quote }}
{{- end }}
{{- range .downloadFrom }}
- {{ printf "--terraform-download-from=%s" . | quote }}
{{- end }}
{{- if .caBundle }}
- --terraform-ca-file=/terraform/files/ca.pem
{{- end }}
{{- if .lockFile }}
- --terraform-lock-file=/terraform/files/terraform.lock.hcl
{{- end }}
{{- if .cacheVolume }}
- --terraform-cache-dir=/terraform/cache
{{- end }}
{{- with .cacheSize }}
- --terraform-cache-size={{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- range .Values.secretStores.hosts }}
- {{ printf "--secret-store-host=%s" . | quote }}
{{- end }}
{{- if include "kusion-operator.hasSecretStoreFiles" . }}
- --secret-store-ca-file=/secret-stores/ca.pem
{{- end }}
{{- range .Values.controller.extraArgs }}
- {{ quote . }}
{{- end }}
{{- if or .Values.terraform.providers .Values.state.volume .Values.state.secrets .Values.state.kms (include "kusion-operator.hasSecretStoreFiles" .) }}
volumeMounts:
{{- end }}
{{- if include "kusion-operator.hasSecretStoreFiles" . }}
- name: secret-stores
  mountPath: /secret-stores
  readOnly: true
{{- end }}
{{- if .Values.state.volume }}
- name: state
  mountPath: /state
{{- end }}
{{- range .Values.state.secrets }}
- name: {{ printf "state-%s" . | quote }}
  mountPath: {{ printf "/state-secrets/%s" . | quote }}
  readOnly: true
{{- end }}
{{- if .Values.state.kms }}
- {{ include "kusion-operator.kmsMount" . }}
{{- end }}
{{- if .Values.terraform.providers }}
{{- if .Values.terraform.pluginVolume }}
- name: terraform-providers
  mountPath: /terraform/providers
  readOnly: true
{{- end }}
{{- if .Values.terraform.cacheVolume }}
- name: terraform-cache
  mountPath: /terraform/cache
{{- end }}
{{- if include "kusion-operator.hasTerraformFiles" . }}
- name: terraform-files
  mountPath: /terraform/files
  readOnly: true
{{- end }}
- name: temporary # sockets, temporary files and copies of the providers
  mountPath: /tmp
{{- end }}
env:
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/* The rights of the controller in the namespaces that it watches. */}}
{{- define "kusion-operator.specRules" -}}
- apiGroups: [api.kusion.io]
  resources: [specs]
  verbs: [get, list, watch, patch] # of the finalizer; never of spec
- apiGroups: [api.kusion.io]
  resources: [releases]
  verbs: [get, list, watch, create, delete]
- apiGroups: [api.kusion.io]
  resources: [specs/status, releases/status]
  verbs: [get, update]
- apiGroups: [""]
  resources: [events]
  verbs: [create]
# All work on behalf of a Spec is done as the ServiceAccount that it names, which must exist.
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [get, impersonate]
{{- if .Values.secretStores.hosts }}
# Secret stores are asked with a token of that account, made for the store alone.
- apiGroups: [""]
  resources: [serviceaccounts/token]
  verbs: [create]
{{- end }}
{{- with .Values.rbac.extraRules }}
{{ toYaml . }}
{{- end }}
{{- end }}
