{{- /* What everything that belongs to the operator is called. */}}
{{- define "afresh.name" -}}
{{ .Release.Name }}-operator
{{- end }}
{{- /* The Secret with the key that all operators share. */}}
{{- define "afresh.reportSecret" -}}
{{ include "afresh.name" . }}-reports
{{- end }}
{{- define "afresh.labels" -}}
{{ include "afresh.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}
{{- define "afresh.selector" -}}
app.kubernetes.io/name: afresh
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}
{{- /* An image of the project's, by its name, unless the whole reference is given. */}}
{{- define "afresh.image" -}}
{{- $image := .root.Values.image }}
{{- .reference | default (printf "%s/%s:%s" $image.registry .name ($image.tag | default .root.Chart.AppVersion)) }}
{{- end }}
