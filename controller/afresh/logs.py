"""Structured logs: one line per event, on standard error, ours and the libraries' alike."""

import logging
import sys
from typing import Any

import structlog

_NOISY = ("kopf", "aiohttp.access", "asyncio")


def configure(*, level: str, form: str) -> None:
    """Set up structlog and the standard library's logging. `form` is `json` or `console`."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderers: dict[str, Any] = {
        "console": structlog.dev.ConsoleRenderer,
        "json": structlog.processors.JSONRenderer,
    }
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                renderers[form](),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.WARNING)


def get_logger() -> structlog.stdlib.BoundLogger:
    """Return a logger for one module."""
    logger: structlog.stdlib.BoundLogger = structlog.get_logger()
    return logger
