"""Structured logs. Nothing personal is written above debug: no address, name, token, IP or URL query."""

import logging
import sys
import traceback
from pathlib import Path
from typing import Any, TextIO

# structlog loads these if it can, and works without: 3 MB of rich for tracebacks that we never draw, and 1 MB of
# greenlet for loggers that we do not use. So it cannot import them now, and others can afterwards.
UNUSED = [name for name in ("rich", "greenlet") if name not in sys.modules]
sys.modules |= dict.fromkeys(UNUSED)  # type: ignore[arg-type]

import structlog  # noqa: E402
from structlog.typing import EventDict, Processor, WrappedLogger  # noqa: E402

for name in UNUSED:
    del sys.modules[name]

from gna.errors import GnaError  # noqa: E402

HERE = str(Path(__file__).parent)


def setup(*, level: str, format: str, to: TextIO | None = None) -> None:
    """Send our own logs and those of the libraries to stderr, or elsewhere, in one shape."""
    render: Processor = structlog.processors.JSONRenderer() if format == "json" else _line
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        _describe_failure,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(to or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, render],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    logging.getLogger("gna").setLevel(level.upper())
    # The info lines of libraries are noise to an operator, and quote addresses with tokens in them.
    root.setLevel(logging.DEBUG if level == "debug" else logging.WARNING)
    # It warns of every broken form, which anybody can send.
    logging.getLogger("python_multipart").setLevel(logging.ERROR)


def get(name: str) -> Any:
    """A logger that binds keywords: `log.info("sent", count=3)`."""
    return structlog.stdlib.get_logger(name)


def failure(error: BaseException) -> dict[str, Any]:
    """What may be said of an exception at any level: its kind and place, and its words only if they are safe.

    A database driver quotes the offending row in its message, so words are kept only from our own
    errors and from the operating system.
    """
    said: dict[str, Any] = {"error": _kind(error)}
    if isinstance(error, GnaError | OSError):
        said["reason"] = str(error)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(HERE)]
    if frames:
        place = frames[-1]
        said["at"] = f"{Path(place.filename).relative_to(HERE)}:{place.lineno} {place.name}"
    if cause := error.__cause__:
        said["cause"] = _kind(cause)
    return said


def _kind(error: BaseException) -> str:
    """`IntegrityError/UniqueViolation`: SQLAlchemy's name, then the driver's, which is the telling one."""
    name = type(error).__name__
    orig = getattr(error, "orig", None)
    return f"{name}/{type(orig).__name__}" if isinstance(orig, BaseException) else name


def _describe_failure(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Replace a traceback by what may be said of it; the whole of it is shown at debug only."""
    info = event.pop("exc_info", None)
    if info is True:
        info = sys.exc_info()
    error = info[1] if isinstance(info, tuple) else info
    if isinstance(error, BaseException):
        event.update(failure(error))
        if logging.getLogger().isEnabledFor(logging.DEBUG):
            event["traceback"] = "".join(traceback.format_exception(error))
    return event


def _line(_: WrappedLogger, __: str, event: EventDict) -> str:
    """One line for a person: time, level, what happened, then the details."""
    time, level = str(event.pop("time"))[11:19], str(event.pop("level"))
    what, _logger, trace = event.pop("event"), event.pop("logger", ""), event.pop("traceback", "")
    details = "".join(f"  {key}={value}" for key, value in event.items())
    return f"{time} {level:<7} {what}{details}" + (f"\n{trace}" if trace else "")
