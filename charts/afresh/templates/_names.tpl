{{- /* At the head of every name. */}}
{{- define "afresh.head" -}}
{{ .Values.fullnameOverride | default .Release.Name }}
{{- end }}
{{- /* What everything that belongs to the operator is called. */}}
{{- define "afresh.name" -}}
{{ include "afresh.head" . }}-{{ .Values.nameOverride | default "operator" }}
{{- end }}
{{- /* The Secret with the key that all operators share. */}}
{{- define "afresh.reportSecret" -}}
{{ include "afresh.name" . }}-reports
{{- end }}
{{- define "afresh.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "afresh.name" .) }}
{{- end }}
{{- /* The namespaces that are served, as JSON; none: all. `--set namespaces={}` is one empty name. */}}
{{- define "afresh.namespaces" -}}
{{ .Values.namespaces | default list | compact | toJson }}
{{- end }}
{{- /* Those of them that are not there, or not for long, as JSON: nothing can be made in them. Without
a cluster there is nothing to see, and the release's own may be made along with it. */}}
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
{{- /* Of the chart's objects without a component of their own. */}}
{{- define "afresh.labels" -}}
{{ include "afresh.labelsOf" (dict "root" . "own" (include "afresh.selector" . | fromYaml)) }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}
{{- define "afresh.selector" -}}
app.kubernetes.io/name: afresh
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}
{{- /* The labels `own` and those of all objects. */}}
{{- define "afresh.labelsOf" -}}
{{ merge (dict) .own (.root.Values.commonLabels | default dict) | toYaml }}
{{- end }}
{{- /* The annotations `own` and those of all objects, where there are any. */}}
{{- define "afresh.annotations" -}}
{{- with merge (dict) (.own | default dict) (.root.Values.commonAnnotations | default dict) }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- /* Labels and annotations of an object's metadata. */}}
{{- define "afresh.metadata" -}}
labels: {{- include "afresh.labels" . | nindent 2 }}
{{- include "afresh.annotations" (dict "root" .) }}
{{- end }}
{{- /* An image of the project's, by its name, unless the whole reference is given. */}}
{{- define "afresh.image" -}}
{{- $image := .root.Values.image }}
{{- .reference | default (printf "%s/%s:%s" $image.registry .name ($image.tag | default .root.Chart.AppVersion)) }}
{{- end }}
{{- /* The image of an AgentClass of the values: `class`. */}}
{{- define "afresh.agentImage" -}}
{{ include "afresh.image" (dict "root" .root "name" (printf "agent-%s" (lower .class.adapter)) "reference" .class.image) }}
{{- end }}
{{- /* The class whose image asks the scripted model. */}}
{{- define "afresh.scriptedClass" -}}
{{ dict "adapter" "Claude" "image" (dig "image" "" (.Values.agentClasses.claude | default dict)) | toYaml }}
{{- end }}
{{- /* The images of the release that no registry has, by their names, as JSON. */}}
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
