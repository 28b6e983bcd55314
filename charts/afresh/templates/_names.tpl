{{- define "afresh.labels" -}}
app.kubernetes.io/name: afresh
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: operator
{{- end }}
{{- define "afresh.selector" -}}
app.kubernetes.io/name: afresh
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}
