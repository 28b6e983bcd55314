{{- /* The operator's environment variables. */}}
{{- define "afresh.environment" -}}
{{- $name := include "afresh.name" . -}}
- name: AFRESH_RUNNER_IMAGE
  value: {{ include "afresh.image" (dict "root" . "name" "runner" "reference" .Values.runner.image) }}
# The kubelet sets the variable with the Service's address, so runners need no DNS for it.
- {name: AFRESH_REPORT_URL, value: "https://$({{ $name | upper | replace "-" "_" }}_SERVICE_HOST):8080/v1/report"}
- {name: AFRESH_REPORT_SECRET, value: {{ include "afresh.reportSecret" . }}}
- {name: AFRESH_NAMESPACES, value: {{ include "afresh.namespaces" . | fromJsonArray | join "," | quote }}}
- {name: AFRESH_POD_USERS, value: {{ .Values.podUsers }}}
- {name: AFRESH_CHECK_EPISODES, value: {{ .Values.admission.checkEpisodes | quote }}}
- {name: AFRESH_LOG_LEVEL, value: {{ .Values.log.level }}}
- {name: AFRESH_LOG_FORMAT, value: {{ .Values.log.format }}}
- {name: AFRESH_LEASE_NAME, value: {{ $name }}}
- name: AFRESH_POD_IP
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
{{- end }}
