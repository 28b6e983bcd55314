"""The table of docs/how-to/agent-images.md: what an agent's image is to do."""

from afresh.contract.conformance import REQUIREMENTS


def render() -> str:
    """Return the table, in the order in which the requirements are tried."""
    rows = [f"| `{item.id}` | {item.level} {item.text} | {item.remedy} |" for item in REQUIREMENTS]
    return "\n".join(["| id | an image | where it does not |", "|---|---|---|", *rows])
