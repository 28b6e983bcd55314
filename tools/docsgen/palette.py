"""The colours of every generated picture, in light and in dark. Knows no picture.

A picture has its own background, so it is readable on a page with any colours.
"""

FONT = "ui-sans-serif, system-ui, 'Helvetica Neue', Arial, sans-serif"

_SHAPES = """\
    .phase, .good, .working, .person { stroke-width: 1.5 }
    .group { fill: none; stroke-width: 1.2; stroke-dasharray: 3 4 }
    .any { stroke-width: 1.2; stroke-dasharray: 3 3 }
    .h { font-size: 15px; font-weight: 600; text-anchor: middle }
    .m { font-size: 13px; text-anchor: middle;
         font-family: ui-monospace, 'DejaVu Sans Mono', monospace }
    .g { font-size: 12px }
    .t { font-size: 12px; paint-order: stroke; stroke-width: 4px }
    .line { fill: none; stroke-width: 1.5; marker-end: url(#tip) }
    .edit { stroke-dasharray: 6 4 }
"""
_LIGHT = {
    "paper": "fill: #ffffff",
    "phase": "fill: #f6f8fa; stroke: #57606a",
    "good": "fill: #f0fff4; stroke: #1a7f37",
    "working": "fill: #eef6ff; stroke: #0969da",
    "person": "fill: #fff8e5; stroke: #9a6700",
    "group": "stroke: #afb8c1",
    "any": "fill: #ffffff; stroke: #57606a",
    "dot, .tip": "fill: #424a53",
    "h, .m": "fill: #1f2328",
    "g": "fill: #6e7781",
    "t": "fill: #424a53; stroke: #ffffff",
    "line": "stroke: #424a53",
    "edit": "stroke: #9a6700",
}
_DARK = {
    "paper": "fill: #161b22",
    "phase": "fill: #21262d; stroke: #8b949e",
    "good": "fill: #12261b; stroke: #3fb950",
    "working": "fill: #11243d; stroke: #58a6ff",
    "person": "fill: #2d2410; stroke: #d29922",
    "group": "stroke: #484f58",
    "any": "fill: #161b22; stroke: #8b949e",
    "dot, .tip": "fill: #b1bac4",
    "h, .m": "fill: #f0f6fc",
    "g": "fill: #9198a1",
    "t": "fill: #c9d1d9; stroke: #161b22",
    "line": "stroke: #b1bac4",
    "edit": "stroke: #d29922",
}


def style() -> str:
    """Return the text of a picture's style element: shapes, light colours, and dark ones."""
    dark = "".join(f"  {line}\n" for line in _rules(_DARK).splitlines())
    media = f"    @media (prefers-color-scheme: dark) {{\n{dark}    }}\n"
    return _SHAPES + _rules(_LIGHT) + media


def _rules(colours: dict[str, str]) -> str:
    return "".join(f"    .{names} {{ {rule} }}\n" for names, rule in colours.items())
