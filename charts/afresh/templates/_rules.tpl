{{- /* The operator's rights in the served namespaces: exactly those that it uses. */}}
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
# The admission policies let only those create an episode's Job who have this verb.
- apiGroups: [afresh.dev]
  resources: [episodes]
  verbs: [run]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, watch, create, patch]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch]
# Only Events say why a pod does not start.
- apiGroups: [""]
  resources: [events]
  verbs: [list, create]
{{- end }}
{{- /* The operator's rights on cluster-wide objects. */}}
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
{{- /* The operator's rights on the Lease in its own namespace, which the chart creates. */}}
{{- define "afresh.leaseRules" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "afresh.name" . }}]
  verbs: [get, patch]
{{- end }}
{{- /* The operator's rights on its own Secret, the only one that it reads. */}}
{{- define "afresh.secretRules" -}}
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [{{ include "afresh.reportSecret" . }}]
  verbs: [get, patch]
{{- end }}
{{- define "afresh.subjects" -}}
- {kind: ServiceAccount, name: {{ include "afresh.serviceAccount" . }}, namespace: {{ .Release.Namespace }}}
{{- end }}
