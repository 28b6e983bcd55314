"""What may not change in the life of an object, where no API server is there to refuse it."""

from collections.abc import Iterator

from afresh.api.meta import ApiModel


def refuse_change(old: ApiModel, new: ApiModel) -> None:
    """Raise ValueError, with the sentence of the API server, if `old` may not become `new`.

    Both are of the same kind. Items of lists have no such rules.
    """
    for sentence in _broken(old, new):
        raise ValueError(sentence)


def _broken(old: ApiModel, new: ApiModel) -> Iterator[str]:
    for rule in new.RULES:
        if rule.allows and not rule.allows(old, new):
            yield rule.message
    for name in type(new).model_fields:
        before, after = getattr(old, name), getattr(new, name)
        if isinstance(before, ApiModel) and isinstance(after, ApiModel):
            yield from _broken(before, after)
