{{- /* The first part of every name. */}}
{{- define "afresh.head" -}}
{{ .Values.fullnameOverride | default .Release.Name }}
{{- end }}
{{- /* The name of the operator's objects. */}}
{{- define "afresh.name" -}}
{{ include "afresh.head" . }}-{{ .Values.nameOverride | default "operator" }}
{{- end }}
{{- /* The Secret with the keys that all replicas share. */}}
{{- define "afresh.reportSecret" -}}
{{ include "afresh.name" . }}-reports
{{- end }}
{{- define "afresh.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "afresh.name" .) }}
{{- end }}
{{- /* The served namespaces as a JSON list; an empty list means all. `--set namespaces={}` gives one empty name. */}}
{{- define "afresh.namespaces" -}}
{{ .Values.namespaces | default list | compact | toJson }}
{{- end }}
{{- /* The served namespaces that do not exist or are being deleted, as a JSON list: no Role can be created
in them. Without a cluster the list is empty. The release's namespace is never in it, because Helm may
create it. */}}
{{- define "afresh.missing" -}}
{{- $missing := list }}
{{- if lookup "v1" "Namespace" "" "default" }}
{{- range without (include "afresh.namespaces" . | fromJsonArray) .Release.Namespace }}
{{- $found := lookup "v1" "Namespace" "" . }}
{{- if or (not $found) (dig "metadata" "deletionTimestamp" "" $found) }}{{ $missing = append $missing . }}{{ end }}
{{- end }}
{{- end }}
{{- toJson $missing }}
{{- end }}
{{- /* The labels of the operator's objects. */}}
{{- define "afresh.labels" -}}
{{ include "afresh.labelsOf" (dict "root" . "own" (include "afresh.selector" . | fromYaml)) }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}
{{- define "afresh.selector" -}}
app.kubernetes.io/name: afresh
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}
{{- /* The labels `own` and commonLabels. */}}
{{- define "afresh.labelsOf" -}}
{{ merge (dict) .own (.root.Values.commonLabels | default dict) | toYaml }}
{{- end }}
{{- /* The annotations `own` and commonAnnotations, if there are any. */}}
{{- define "afresh.annotations" -}}
{{- with merge (dict) (.own | default dict) (.root.Values.commonAnnotations | default dict) }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- /* The labels and annotations of one of the operator's objects. */}}
{{- define "afresh.metadata" -}}
labels: {{- include "afresh.labels" . | nindent 2 }}
{{- include "afresh.annotations" (dict "root" .) }}
{{- end }}
{{- /* The reference of the image `name` from image.registry, unless `reference` is set. */}}
{{- define "afresh.image" -}}
{{- $image := .root.Values.image }}
{{- .reference | default (printf "%s/%s:%s" $image.registry .name ($image.tag | default .root.Chart.AppVersion)) }}
{{- end }}
{{- /* The image of `class`, an entry of agentClasses. */}}
{{- define "afresh.agentImage" -}}
{{ include "afresh.image" (dict "root" .root "name" (printf "agent-%s" (lower .class.adapter)) "reference" .class.image) }}
{{- end }}
{{- /* The entry whose image the scripted model's AgentClass uses. */}}
{{- define "afresh.scriptedClass" -}}
{{ dict "adapter" "Claude" "image" (dig "image" "" (.Values.agentClasses.claude | default dict)) | toYaml }}
{{- end }}
{{- /* The images of the release whose registry is localhost, as a JSON list. */}}
{{- define "afresh.localImages" -}}
{{- $all := list
  (include "afresh.image" (dict "root" . "name" "operator" "reference" .Values.operator.image))
  (include "afresh.image" (dict "root" . "name" "runner" "reference" .Values.runner.image)) }}
{{- range $class := .Values.agentClasses }}
{{- if and $class $class.enabled }}
{{- $all = append $all (dig "image" (include "afresh.agentImage" (dict "root" $ "class" $class)) ($class.spec | default dict)) }}
{{- end }}
{{- end }}
{{- if .Values.scriptedModel.enabled }}
{{- $all = append $all (include "afresh.image" (dict "root" . "name" "demo" "reference" .Values.scriptedModel.image)) }}
{{- $all = append $all (include "afresh.agentImage" (dict "root" . "class" (include "afresh.scriptedClass" . | fromYaml))) }}
{{- end }}
{{- $local := list }}
{{- range $all }}{{ if hasPrefix "localhost/" . }}{{ $local = append $local . }}{{ end }}{{ end }}
{{- uniq $local | toJson }}
{{- end }}
