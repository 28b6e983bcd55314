{{- /* In CEL: whether the user may make episodes, and whether he may make their pods. */}}
{{- define "afresh.mayRun" -}}
authorizer.group("afresh.dev").resource("episodes").namespace(request.namespace).check("run").allowed()
{{- end }}
{{- define "afresh.mayMakePods" -}}
authorizer.group("batch").resource("jobs").subresource("status").namespace(request.namespace).check("update").allowed()
{{- end }}
{{- /* Variables on the metadata in the lists `new` and `old`: whose it is, and whether it stays. */}}
{{- define "afresh.episodeVariables" -}}
# A trial of an image has an Order too.
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
# By these the Job controller counts its pods, and a queue knows its Jobs.
- name: isCounted
  expression: >-
    {{ include "afresh.keeps" (include "afresh.isCounted" .) }}
# Others' words alone may differ.
- name: isWhole
  expression: >-
    oldObject != null && variables.isSame && variables.isCounted && object.spec == oldObject.spec &&
    object.metadata.?ownerReferences.orValue([]) ==
    oldObject.metadata.?ownerReferences.orValue([]) &&
    object.metadata.?finalizers.orValue([]) == oldObject.metadata.?finalizers.orValue([])
{{- end }}
{{- /* In CEL: whether all words whose key `k` is of a kind are there as they were. */}}
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
