{{- define "purchase-watch.labels" -}}
app.kubernetes.io/name: purchase-watch
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "purchase-watch.daemon" -}}
{{ include "purchase-watch.labels" . }}
app.kubernetes.io/component: daemon
{{- end }}

{{- define "purchase-watch.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "purchase-watch.pod" -}}
automountServiceAccountToken: false
imagePullSecrets: {{ toJson .Values.pullSecrets }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "purchase-watch.container" -}}
image: {{ include "purchase-watch.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
resources: {{ toJson .Values.resources }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
env:
{{- range $name, $value := .Values.env }}
  - name: {{ $name }}
    value: {{ $value | quote }}
{{- end }}
{{- end }}
