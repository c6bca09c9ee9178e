"""How a service writes its log: one record a line, as text or as JSON, with the request that it belongs to.

Whatever a caller sends stays on its line, and keys stay out, wherever a record comes from. What is logged of
a request is ``watch``'s business.
"""

from __future__ import annotations

import json
import logging
import logging.config
import re
from collections.abc import Collection, Iterable
from typing import Any

from rag_platform.keys import PREFIX
from rag_platform.moments import utc
from rag_platform.profiles import named_models
from rag_platform.settings import Settings
from rag_platform.watching import current
from serving.watch import Watched

__all__ = ["JsonLines", "TextLines", "config", "secrets_of", "set_up"]

_SHORTEST_SECRET = 6
"""Characters; what is shorter stands in too many words, and protects nothing."""
_KEYS = re.compile(
    rf"\b{PREFIX}[A-Za-z0-9_-]{{32,}}"
    r"|(?<=\bBearer )[^\s'\",;]+"
    r"|(?<=[?&]key=)[^&\s'\"]+|(?<=[?&]api_key=)[^&\s'\"]+|(?<=[?&]api-key=)[^&\s'\"]+",
    re.IGNORECASE,
)
"""Keys of ours, and of others where they are usually sent."""
_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""What ends a line for some reader, moves a terminal's cursor, or cannot be written."""
_OUR_LOGGERS = ("rag_platform", "assets", "jobs")
_TALKATIVE = ("httpx", "httpcore")
"""They tell every address that is asked, and some providers take their key in it."""


class _Lines(logging.Formatter):
    """What both forms share.

    Args:
        secrets: Blotted out wherever they stand.
    """

    def __init__(self, secrets: Collection[str] = ()) -> None:
        super().__init__()
        found = sorted((one for one in secrets if len(one) >= _SHORTEST_SECRET), key=len, reverse=True)
        self._secrets = re.compile("|".join(map(re.escape, found))) if found else None

    def _message(self, record: logging.LogRecord) -> str:
        return self._blotted(record.getMessage())

    def _exception(self, record: logging.LogRecord) -> str:
        return self._blotted(self.formatException(record.exc_info)) if record.exc_info else ""

    def _blotted(self, text: str) -> str:
        bare = _KEYS.sub("***", text)
        return self._secrets.sub("***", bare) if self._secrets else bare


class TextLines(_Lines):
    """``time level logger: [request id] message``; a traceback below it is indented, so it is no record."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record's line."""
        watched = _watched()
        mark = f"[{watched.request_id}] " if watched is not None and watched.request_id else ""
        head = f"{utc(record.created, 'milliseconds')} {record.levelname} {record.name}: {mark}"
        line = f"{head}{_one_line(self._message(record))}"
        below = self._exception(record).splitlines()
        return "\n".join([line, *(f"    {_one_line(one)}" for one in below)])


class JsonLines(_Lines):
    """One JSON object a line: ``time``, ``level``, ``logger``, ``message``, and where they are known
    ``request_id``, ``method``, ``route``, ``status``, ``ms``, ``principal``, ``steps``, ``exception``.
    """  # noqa: D205

    def format(self, record: logging.LogRecord) -> str:
        """Return a record's line."""
        value: dict[str, Any] = {
            "time": utc(record.created, "milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": self._message(record),
            **_of_request(),
            "steps": getattr(record, "steps", None),
            "exception": self._exception(record),
        }
        known = {name: one for name, one in value.items() if one not in (None, "")}
        return _BREAKS.sub(_as_json, json.dumps(known, ensure_ascii=False, default=str))


def config(settings: Settings, *, verbose: bool) -> dict[str, Any]:
    """Return how a service logs, as ``logging.config.dictConfig`` and uvicorn take it.

    Warnings and errors always; with JSON, which machines read, every request as well, and with ``verbose``
    everything.
    """
    form = JsonLines if settings.log_format == "json" else TextLines
    every = {"handlers": [], "propagate": True}
    told = "INFO" if verbose or settings.log_format == "json" else "NOTSET"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": form, "secrets": secrets_of(settings)}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"level": "INFO" if verbose else "WARNING", "handlers": ["stderr"]},
        "loggers": {
            **dict.fromkeys(_OUR_LOGGERS, every),
            **{name: {**every, "level": "WARNING"} for name in _TALKATIVE},
            "serving": {**every, "level": told},
        },
    }


def set_up(settings: Settings, *, verbose: bool) -> dict[str, Any]:
    """Have this process log so from now on, and return how, for processes that are started from here."""
    chosen = config(settings, verbose=verbose)
    logging.config.dictConfig(chosen)
    logging.captureWarnings(True)
    return chosen


def secrets_of(settings: Settings) -> list[str]:
    """Return every secret of the settings, and the keys of the models that their file names.

    Raises:
        InvalidSetting: The file is missing or wrong.
    """
    named = named_models(settings.model_profiles)
    values = [one.connection.key for one in named.chat.values()]
    values += [one.key for one in named.embedding.values()]
    for name, field in type(settings).model_fields.items():
        if not field.repr:
            value = getattr(settings, name)
            values += [value] if isinstance(value, str) else _strings(value)
    return sorted(set(filter(None, values)))


def _strings(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, Iterable) else [str(value)]


def _watched() -> Watched | None:
    watcher = current()
    return watcher if isinstance(watcher, Watched) else None


def _of_request() -> dict[str, Any]:
    """Return what is known by now of the request that this belongs to."""
    watched = _watched()
    if watched is None:
        return {}
    is_over = bool(watched.seconds)
    return {
        "request_id": watched.request_id,
        "method": watched.method,
        "route": watched.route,
        "status": watched.status if is_over else None,
        "ms": round(1_000 * watched.seconds, 1) if is_over else None,
        "principal": watched.principal,
    }


def _one_line(text: str) -> str:
    r"""Return a text on one line.

    >>> _one_line("कर\nINFO forged")
    'कर\\nINFO forged'
    """
    return _BREAKS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _as_json(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
