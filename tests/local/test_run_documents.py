"""The file of a package: what of it is run, and what is said where that is not clear."""

import pytest
import yaml

from afresh.cli.local_run_documents import BadDocumentsError, PackageDocuments, documents_of
from afresh.cli.manifest.checked_file import check_file
from tests.local.afresh_command import package, script_class

GOOD = yaml.safe_dump(package("T1"), sort_keys=False)
CLASS = yaml.safe_dump(script_class("true"), sort_keys=False)
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\n"


def documents(text: str) -> PackageDocuments:
    return documents_of(check_file("p.yaml", text.encode()))


def test_package_and_its_class_are_found_in_any_order_and_the_rest_is_for_a_cluster():
    other = CLASS.replace("name: script", "name: other")

    found = documents(f"---\n{other}---\n{CLASS}---\n{SECRET}---\n{GOOD}---\n")

    assert found.package == package("T1")
    assert found.agent_class == script_class("true")


def test_class_of_another_name_is_not_the_packages():
    assert documents(f"{GOOD}---\n{CLASS.replace('name: script', 'name: b')}").agent_class is None


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(CLASS, "p.yaml: there is no WorkPackage in the file", id="no package"),
        pytest.param(f"{GOOD}---\n{GOOD}", "p.yaml: there are several", id="two packages"),
        pytest.param(
            GOOD.replace("name: demo", "name: ../demo"), "p.yaml:4: metadata.name", id="a path"
        ),
        pytest.param(
            GOOD.replace("title: T1", "title: T1\n    dependsOn: [T9]"),
            "p.yaml:",
            id="a dependency that is not there",
        ),
    ],
)
def test_what_cannot_be_run_is_said_with_its_place(text: str, want: str):
    with pytest.raises(BadDocumentsError) as caught:
        documents(text)

    assert caught.value.findings[0].startswith(want), caught.value.findings
