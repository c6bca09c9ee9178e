"""The one place that tells third-party libraries to send nothing: no events, no price lists, no look-ups.

Entry points call ``keep_private`` before Dagster, DeepEval, LiteLLM, transformers or the Hugging Face
client are imported, because those read the environment at import. Only environment defaults stand here:
what the user has set on purpose stays.
"""

from __future__ import annotations

import os
from urllib.parse import SplitResult, urlsplit, urlunsplit

__all__ = [
    "PRIVATE_DEFAULTS",
    "THIS_MACHINE",
    "address_parts",
    "host_and_path",
    "is_offline",
    "keep_private",
    "shown_address",
]

PRIVATE_DEFAULTS: dict[str, str] = {
    "DAGSTER_DISABLE_TELEMETRY": "yes",
    "CONFIDENT_TRACING_ENABLED": "NO",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DEEPEVAL_DISABLE_LEGACY_KEYFILE": "1",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_MODE": "PRODUCTION",
    "TOKENIZERS_PARALLELISM": "false",
}
"""Environment defaults. DeepEval and LiteLLM would read ``.env`` into the environment; the last one is
no telemetry but keeps forked workers from a dead lock."""

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
"""Names of it in addresses."""
_TRUE = {"1", "on", "yes", "true"}


def keep_private() -> None:
    """Set every default that the environment does not set itself; safe to call any number of times."""
    for name, value in PRIVATE_DEFAULTS.items():
        os.environ.setdefault(name, value)
    _spare_this_machine()


def _spare_this_machine() -> None:
    """Keep from a proxy what is for servers on this machine: it would leave, and not come back."""
    if not any(os.environ.get(name) for one in _PROXIES for name in (one, one.lower())):
        return
    name = "no_proxy" if "no_proxy" in os.environ else "NO_PROXY"
    spared = [host.strip() for host in os.environ.get(name, "").split(",") if host.strip()]
    if "*" not in spared:
        os.environ[name] = ",".join(dict.fromkeys([*spared, *THIS_MACHINE]))


def is_offline() -> bool:
    """Say whether the user has ruled out downloads (``HF_HUB_OFFLINE`` or ``TRANSFORMERS_OFFLINE``)."""
    return any(
        os.environ.get(name, "").lower() in _TRUE for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    )


def host_and_path(url: str) -> str:
    """Return what of an address tells one service from another, for recipes.

    >>> host_and_path("http://rag:secret@localhost:8000/v1?key=secret")
    'localhost:8000/v1'
    """
    return shown_address(url).partition("://")[2]


def shown_address(url: str) -> str:
    """Return an address without user, password and query, for messages and recipes.

    >>> shown_address("http://rag:secret@localhost:8000/v1?key=secret")
    'http://localhost:8000/v1'
    >>> shown_address("http://rag:secret@[::1/v1?key=secret")
    '[::1/v1'
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # it is none
        return url.rpartition("@")[2].partition("?")[0]
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def address_parts(url: str) -> SplitResult | None:
    """Return the parts of an ``http`` or ``https`` address; None where it is none.

    >>> [address_parts(one) is None for one in ("https://example.org/v1", "http://[", "http://a:b", "ftp://a")]
    [False, True, True, True]
    """
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if fits and url.isprintable() else None
