{{- /* What the operator may do in the namespaces that it serves: exactly what it does. */}}
{{- define "afresh.rules" -}}
- apiGroups: [afresh.dev]
  resources: [workpackages]
  verbs: [list, watch]
- apiGroups: [afresh.dev]
  resources: [workpackages/status, subtasks/status]
  verbs: [patch]
- apiGroups: [afresh.dev]
  resources: [subtasks]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, delete]
# The admission policies know by this verb who may make an episode's Job.
- apiGroups: [afresh.dev]
  resources: [episodes]
  verbs: [run]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, watch, create, patch]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch]
# Why a pod does not start is told in Events alone.
- apiGroups: [""]
  resources: [events]
  verbs: [list, create]
{{- end }}
{{- /* And outside of any namespace. */}}
{{- define "afresh.clusterRules" -}}
- apiGroups: [afresh.dev]
  resources: [agentclasses]
  verbs: [list, watch]
- apiGroups: [afresh.dev]
  resources: [agentclasses/status]
  verbs: [patch]
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
{{- end }}
{{- /* And in its own namespace, where operators take turns by a Lease that the chart makes. */}}
{{- define "afresh.leaseRules" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "afresh.name" . }}]
  verbs: [get, patch]
{{- end }}
{{- /* And the one Secret that it reads, which holds the key of its Report endpoint. */}}
{{- define "afresh.secretRules" -}}
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [{{ include "afresh.reportSecret" . }}]
  verbs: [get, patch]
{{- end }}
{{- define "afresh.subjects" -}}
- {kind: ServiceAccount, name: {{ include "afresh.serviceAccount" . }}, namespace: {{ .Release.Namespace }}}
{{- end }}
