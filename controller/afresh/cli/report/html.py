"""HTML that no text can break: every text is escaped, and only elements are markup. Pure."""

import html
from dataclasses import dataclass

_VOID = frozenset({"meta", "br"})


@dataclass(frozen=True, slots=True)
class Markup:
    """HTML that `element` or `style` has made."""

    html: str


Child = Markup | str | None
Value = str | int | float | bool | None


def element(tag: str, *children: Child, **attributes: Value) -> Markup:
    """Return an element; texts among `children`, and attributes, stand in it as texts.

    Of an attribute's name a trailing underscore is left out, and others become hyphens. None leaves
    a child or an attribute out, and so does False; True stands for an attribute without a value.
    """
    given = "".join(_attribute(name, value) for name, value in attributes.items())
    opened = f"<{tag}{given}>"
    if tag in _VOID:
        return Markup(opened)
    return Markup(f"{opened}{joined(*children).html}</{tag}>")


def joined(*children: Child) -> Markup:
    """Return the children one after the other, texts escaped."""
    parts = (
        item.html if isinstance(item, Markup) else html.escape(item)
        for item in children
        if item is not None
    )
    return Markup("".join(parts))


def style(css: str) -> Markup:
    """Return a style sheet of this program's own. Raises ValueError if it would end the element."""
    if "</" in css:
        raise ValueError("a style sheet cannot hold the end of an element")
    return Markup(f"<style>{css}</style>")


def _attribute(name: str, value: Value) -> str:
    if value is None or value is False:
        return ""
    key = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {key}"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return f' {key}="{html.escape(text)}"'
