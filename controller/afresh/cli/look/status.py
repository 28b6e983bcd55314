"""Shows where packages are, once. Following them is left to `status_watch`.

Owns the forms of the output. Imports neither the Kubernetes client nor an event loop: this is the
command that people run most, and it should answer at once.
"""

import json

from afresh import clock
from afresh.cli.forms import as_yaml
from afresh.cli.look.pictures import CLASSES, Picture, picture_of
from afresh.cli.look.terminal import standard_output, write
from afresh.cli.looks import StatusForm, StatusLook
from afresh.cli.session import asking, missing_package
from afresh.kube.api_session import ApiSession
from afresh.kube.errors import NotFoundError, RefusedError
from afresh.kube.resources import Manifest

SECONDS = 45


def show(look: StatusLook) -> None:
    """Show what is asked for on standard output. Raises CommandError."""
    if look.watch:
        from afresh.cli.look.status_watch import watch  # noqa: PLC0415  # slow to import

        watch(look)
        return
    with asking(look.place, SECONDS) as (session, namespace):
        picture = picture_of(look, namespace)
        try:
            _show_once(look, session, picture)
        except NotFoundError as error:
            raise missing_package(look.package or "", namespace, error) from error


def _show_once(look: StatusLook, session: ApiSession, picture: Picture) -> None:
    found = {
        item: session.list_items(item.resource, item.namespace, **item.selectors)
        for item in picture.collections
    }
    classes = _classes(session) if picture.needs_classes(found.__getitem__) else []
    views = picture.views(found.__getitem__, classes, clock.now())
    if look.form in (StatusForm.TEXT, StatusForm.WIDE):
        console = standard_output(wide=look.form is StatusForm.WIDE)
        write(console, picture.lines(views, (console.width, None)))
        return
    if look.form is StatusForm.NAME:
        for view in views:
            print(f"workpackage.afresh.dev/{view.name}")
        return
    shown = [view.to_json() for view in views]
    value = shown[0] if look.package else {"packages": shown}
    print(json.dumps(value, indent=2) if look.form is StatusForm.JSON else as_yaml(value).rstrip())


def _classes(session: ApiSession) -> list[Manifest]:
    """Return the classes, whose status has the closed gates; none where they may not be read."""
    try:
        return session.list_items(CLASSES.resource, None)
    except RefusedError:
        return []
