"""An admission policy that refuses what the operator may do by RBAC and never should.

RBAC cannot tell the operator's Jobs and NetworkPolicies from anybody else's; this can. What it
refuses is in the audit log too.
"""

from tests.apiserver.audit import ACCOUNT
from tests.apiserver.kubectl import Kubectl, Manifest

NAME = "only-its-own"
GROUP = "admissionregistration.k8s.io/v1"
OURS = "metadata.?labels['app.kubernetes.io/managed-by'].orValue('') == 'afresh'"


def guard() -> list[Manifest]:
    """Return the policy and its binding."""
    return [
        {
            "apiVersion": GROUP,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": NAME},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {
                    "resourceRules": [
                        {
                            "apiGroups": ["batch", "networking.k8s.io"],
                            "apiVersions": ["*"],
                            "operations": ["CREATE", "UPDATE", "DELETE"],
                            "resources": ["*"],
                        },
                        {
                            "apiGroups": ["afresh.dev"],
                            "apiVersions": ["*"],
                            "operations": ["CREATE", "UPDATE", "DELETE"],
                            "resources": ["*"],
                        },
                    ]
                },
                "matchConditions": [
                    {"name": "operator", "expression": f"request.userInfo.username == '{ACCOUNT}'"}
                ],
                "validations": [
                    {
                        "expression": f"oldObject == null || oldObject.{OURS}",
                        "message": "the operator changes what is not its own",
                    },
                    {
                        "expression": f"object == null || object.{OURS}",
                        "message": "the operator makes what does not bear its label",
                    },
                ],
            },
        },
        {
            "apiVersion": GROUP,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": NAME},
            "spec": {"policyName": NAME, "validationActions": ["Deny", "Audit"]},
        },
    ]


def install(kubectl: Kubectl) -> None:
    """Put it up."""
    for manifest in guard():
        kubectl("apply", manifest=manifest)
