{{- /* In CEL: whether the user may create episodes' Jobs (mayRun) and their pods (mayMakePods). */}}
{{- define "afresh.mayRun" -}}
authorizer.group("afresh.dev").resource("episodes").namespace(request.namespace).check("run").allowed()
{{- end }}
{{- define "afresh.mayMakePods" -}}
authorizer.group("batch").resource("jobs").subresource("status").namespace(request.namespace).check("update").allowed()
{{- end }}
{{- /* Variables about the metadata in the lists `new` and `old`: whether they belong to an episode, and
what of them has changed. */}}
{{- define "afresh.episodeVariables" -}}
# The pod of `afresh conformance` has an Order too, but is no episode.
- name: isEpisode
  expression: >-
    (variables.new + variables.old).exists(m, "afresh.dev/package" in m.?labels.orValue({}) ||
    ("afresh.dev/order" in m.?annotations.orValue({}) &&
    !("afresh.dev/conformance" in m.?labels.orValue({}))))
- name: newWords
  expression: >-
    variables.new.map(m, m.?labels.orValue({})) + variables.new.map(m, m.?annotations.orValue({}))
- name: oldWords
  expression: >-
    variables.old.map(m, m.?labels.orValue({})) + variables.old.map(m, m.?annotations.orValue({}))
- name: isSame
  expression: >-
    {{ include "afresh.keeps" (include "afresh.isOurs" .) }}
# The Job controller counts its pods by these keys, and Kueue finds its Jobs by them.
- name: isCounted
  expression: >-
    {{ include "afresh.keeps" (include "afresh.isCounted" .) }}
# Only labels and annotations of other programs may differ.
- name: isWhole
  expression: >-
    oldObject != null && variables.isSame && variables.isCounted && object.spec == oldObject.spec &&
    object.metadata.?ownerReferences.orValue([]) ==
    oldObject.metadata.?ownerReferences.orValue([]) &&
    object.metadata.?finalizers.orValue([]) == oldObject.metadata.?finalizers.orValue([])
{{- end }}
{{- /* In CEL: whether all labels and annotations whose key `k` meets a condition are unchanged. */}}
{{- define "afresh.keeps" -}}
size(variables.newWords) == size(variables.oldWords) && [0, 1, 2, 3, 4, 5, 6, 7].all(i,
    i >= size(variables.newWords) ||
    (variables.newWords[i].all(k, !{{ . }} ||
    (k in variables.oldWords[i] && variables.oldWords[i][k] == variables.newWords[i][k])) &&
    variables.oldWords[i].all(k, !{{ . }} || k in variables.newWords[i])))
{{- end }}
{{- define "afresh.isOurs" -}}
(k.startsWith("afresh.dev/") || k == "app.kubernetes.io/managed-by")
{{- end }}
{{- define "afresh.isCounted" -}}
(k.startsWith("batch.kubernetes.io/") || k.startsWith("kueue.x-k8s.io/") ||
    k in ["job-name", "controller-uid"])
{{- end }}
