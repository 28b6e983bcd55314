"""Writes the edges of a diagram as a Mermaid `stateDiagram-v2`, which code hosts can draw."""

from tools.docsgen.phases import ANY, END, START, Diagram


def render(diagram: Diagram) -> str:
    """Return the text of the diagram, without a code fence."""
    shown = {name for edge in diagram.edges for name in (edge.source, edge.target)}
    named = [name for name in (ANY, *diagram.groups) if name in shown]
    lines = ["stateDiagram-v2"]
    lines += [f'    state "{_title(diagram, name)}" as {_id(name)}' for name in named]
    for edge in diagram.edges:
        source = "[*]" if edge.source == START else _id(edge.source)
        target = "[*]" if edge.target == END else _id(edge.target)
        lines.append(f"    {source} --> {target}: {', '.join(edge.words)}")
    return "\n".join(lines)


def _id(name: str) -> str:
    return name.replace(" ", "_")


def _title(diagram: Diagram, name: str) -> str:
    members = diagram.groups.get(name)
    return f"{name}: {', '.join(members)}" if members else name
