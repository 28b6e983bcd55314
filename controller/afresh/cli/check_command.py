"""The commands about an installation, `check` and `version`, as the command line shows them."""

import json

import click

from afresh import __version__
from afresh.cli.options import on_a_cluster, written_as
from afresh.cli.requests import Place, TableForm, ValueForm


@click.command()
@on_a_cluster
@click.option("--pre", is_flag=True, help="Before an install: can Afresh be installed here?")
@written_as(TableForm.TABLE)
def check(place: Place, pre: bool, form: TableForm) -> int:
    """Check whether Afresh works on this cluster.

    It checks the version of the cluster, the CRDs, the operator, your rights, the images, whether
    an operator serves the namespace, whether the namespace accepts an episode's pod, and whether
    NetworkPolicies are enforced. It changes nothing: the pod is created in a dry run. A check whose
    facts you may not read is "unknown".
    With --pre it checks what an install needs: name the namespace of the packages with -n. The
    exit code is 1 if a check fails.

    \b
    Example: afresh check -n team-a
    \b
    Example: afresh check --pre -n team-a -o json
    """
    from afresh.cli.check.run import run_checks, write  # noqa: PLC0415  # slow to import

    findings = run_checks(place, before_install=pre)
    write(findings, form)
    return 0 if findings.passed else 1


@click.command()
@on_a_cluster
@click.option("--client", is_flag=True, help="Only this command's version; no cluster is asked.")
@written_as(ValueForm.TEXT)
def version(place: Place, client: bool, form: ValueForm) -> None:
    """Print the version of this command and of what is installed.

    What is installed is the operator and the CRDs; the cluster's version is printed too.

    Where the cluster gives no answer within 5 seconds, standard error says why, and only the
    version of this command is printed. `afresh --version` asks no cluster.

    \b
    Example: afresh version
    \b
    Example: afresh version --client -o json
    """
    versions = {"version": __version__}
    if not client:
        from afresh.cli.versions import read_versions  # noqa: PLC0415  # slow to import

        found, problem = read_versions(place)
        versions |= found
        if problem:
            click.echo(f"Warning: {problem}", err=True)
    if form is ValueForm.JSON:
        click.echo(json.dumps(versions))
        return
    if form is ValueForm.YAML:
        from afresh.cli.forms import as_yaml  # noqa: PLC0415  # as above

        click.echo(as_yaml(versions), nl=False)
        return
    names = {"version": "afresh", "crds": "CRDs", "kubernetes": "Kubernetes"}
    for key, text in versions.items():
        click.echo(f"{names.get(key, key)} {text}")
