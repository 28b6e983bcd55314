"""What holds for every object of a release: its name, its labels, its annotations."""

import pytest

from tests.chart.helm import Manifest, kinds, one, render

EVERYTHING = (
    "scriptedModel.enabled=true", "admission.enabled=true", "agentClasses.claude.enabled=true",
    "monitoring.serviceMonitor.enabled=true", "monitoring.podMonitor.enabled=true",
    "monitoring.prometheusRule.enabled=true", "monitoring.dashboard.enabled=true", "replicas=2",
    'serviceAccount.annotations={"role":"x"}', 'operator.podAnnotations={"note":"1"}',
)  # fmt: skip


def test_every_object_and_the_operators_pods_have_the_common_labels_and_annotations() -> None:
    objects = render(
        "afresh", *EVERYTHING, 'commonLabels={"team":"platform"}',
        'commonAnnotations={"example.com/wave":"2"}',
    )  # fmt: skip

    pod = one(objects, "Deployment", "afresh-operator")["spec"]["template"]
    assert len(objects) > 30
    for item in (*objects, pod):
        metadata = item["metadata"]
        assert metadata["labels"]["team"] == "platform", metadata
        assert metadata["annotations"]["example.com/wave"] == "2", metadata
    assert pod["metadata"]["annotations"]["note"] == "1"
    assert one(objects, "ServiceAccount")["metadata"]["annotations"]["role"] == "x"


def test_a_common_label_changes_no_selector() -> None:
    def selectors(*values: str) -> list[Manifest]:
        return [
            item["spec"]["selector"]
            for item in render("afresh", *EVERYTHING, *values)
            if "selector" in item.get("spec", {})
        ]

    assert selectors('commonLabels={"team":"platform"}') == selectors()


def test_without_common_annotations_nothing_has_an_empty_one() -> None:
    assert not [item for item in render() if "annotations" in item["metadata"]]


def test_the_names_can_be_others_than_the_releases() -> None:
    objects = render(
        "afresh", *EVERYTHING, 'fullnameOverride="agents"', 'nameOverride="controller"'
    )

    names = {item["metadata"]["name"] for item in objects}
    deployment = one(objects, "Deployment", "agents-controller")["spec"]["template"]["spec"]
    environment = {item["name"]: item.get("value") for item in deployment["containers"][0]["env"]}
    assert not [name for name in names if name.startswith("afresh")]
    assert "agents-scripted-model" in names
    assert "agents-view" in names
    assert environment["AFRESH_LEASE_NAME"] == "agents-controller"
    assert environment["AFRESH_REPORT_SECRET"] == one(objects, "Secret")["metadata"]["name"]
    assert "$(AGENTS_CONTROLLER_SERVICE_HOST)" in str(environment["AFRESH_REPORT_URL"])


def test_an_account_that_exists_gets_the_rights_and_none_is_made() -> None:
    objects = render("afresh", "serviceAccount.create=false", 'serviceAccount.name="ours"')

    subjects = [
        item["subjects"] for item in objects if item["kind"].endswith("RoleBinding")
    ]  # fmt: skip
    assert "ServiceAccount" not in kinds(objects)
    assert one(objects, "Deployment")["spec"]["template"]["spec"]["serviceAccountName"] == "ours"
    assert {subject["name"] for of_one in subjects for subject in of_one} == {"ours"}


def test_an_account_that_is_made_can_have_another_name() -> None:
    objects = render("afresh", 'serviceAccount.name="ours"')

    assert one(objects, "ServiceAccount")["metadata"]["name"] == "ours"


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param(
            '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"{{ .Release.Name }}-x"}}',
            id="an object",
        ),
        pytest.param(
            '"apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: {{ .Release.Name }}-x}"',
            id="a text",
        ),
    ],
)
def test_an_object_of_ones_own_is_a_template_in_the_release(extra: str) -> None:
    objects = render("afresh", f"extraObjects=[{extra}]")

    assert one(objects, "ConfigMap")["metadata"]["name"] == "afresh-x"
    assert len(objects) == len(render()) + 1
