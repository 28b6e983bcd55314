"""The commands about an installation, `check` and `version`, as the command line shows them."""

import json

import click

from afresh import __version__
from afresh.cli.options import on_a_cluster, written_as
from afresh.cli.requests import Place, TableForm, ValueForm


@click.command()
@on_a_cluster
@click.option("--pre", is_flag=True, help="Check a cluster before an install.")
@written_as(TableForm.TABLE)
def check(place: Place, pre: bool, form: TableForm) -> int:
    """Check whether Afresh works on this cluster.

    It checks the version of the cluster, the CRDs, the operator, your rights, the images,
    whether an operator serves the namespace, whether the namespace accepts an episode's pod, and
    whether NetworkPolicies are enforced. It changes nothing: the pod is created in a dry run. The
    result is "unknown" if you may not read what a check needs. The exit code is 1 if a check fails.

    With --pre it checks whether you can install Afresh into the namespace afresh-system, and
    whether the namespace of -n can have packages.

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

    It prints the versions of the operator, the CRDs and Kubernetes on the cluster.
    If the cluster does not answer within 5 seconds, only the version of this command is printed,
    and standard error says why. `afresh --version` asks no cluster.

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
