"""An admission policy that refuses what the operator may do by RBAC and never should.

RBAC cannot tell the operator's Jobs and NetworkPolicies from anybody else's; this can. What it
refuses is in the audit log too.
"""

from tests.apiserver.audit import ACCOUNT
from tests.apiserver.kubectl import Kubectl, Manifest
from tests.e2e.cluster import wait

NAME = "only-its-own"
GROUP = "admissionregistration.k8s.io/v1"
OURS = "metadata.?labels['app.kubernetes.io/managed-by'].orValue('') == 'afresh'"
REFUSAL = "the operator makes what does not bear its label"


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
                        "message": REFUSAL,
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


def install(kubectl: Kubectl, namespace: str) -> None:
    """Put it up; return once it stands before the operator, which has its rights there."""
    for manifest in guard():
        kubectl("apply", manifest=manifest)
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
              "metadata": {"name": NAME}, "spec": {"podSelector": {}}}  # fmt: skip

    def is_active() -> bool:
        words = ("create", "--dry-run=server", "-n", namespace, f"--as={ACCOUNT}")
        return REFUSAL in kubectl.run(*words, manifest=policy).stderr

    wait("the guard stands", is_active, seconds=120)
