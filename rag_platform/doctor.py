"""``rag doctor``: what works on this machine, what does not, and what to do about it.

Each check looks at one thing and returns findings; nothing is changed and no weights are loaded.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata

from rag_platform.embedding.encoders import ENCODERS, can_load, resolve
from rag_platform.errors import InvalidSetting, RagError
from rag_platform.profiles import named_models
from rag_platform.settings import Settings
from rag_platform.settings_defaults import FULL_PROFILE

__all__ = ["Finding", "Verdict", "examine"]

_EXTRA = re.compile(r"""extra == ['"]([^'"]+)['"]""")
_INGEST = "rag ingest PATH"
_LANGUAGES = ("nep", "eng", "Devanagari")
_INSTALL_TESSERACT = (
    "apt-get install tesseract-ocr tesseract-ocr-nep tesseract-ocr-script-deva tesseract-ocr-eng"
)


class Verdict(StrEnum):
    """``missing`` stops the main job; ``optional`` does not."""

    ok = "ok"
    missing = "missing"
    optional = "optional"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: what it is, how it stands, and the remedy where there is one."""

    check: str
    verdict: Verdict
    found: str
    remedy: str = ""


def examine(settings: Settings) -> Iterator[Finding]:
    """Yield every finding, the machine first, then models, settings and the store."""
    yield _python()
    yield from _packages()
    yield from _tesseract(settings)
    yield from _models(settings)
    yield from _profile(settings)
    home = _home(settings)
    yield home
    if home.verdict is Verdict.ok:
        yield from _published(settings)


def _python() -> Finding:
    return Finding("python", Verdict.ok, f"{platform.python_version()} at {sys.executable}")


def _packages() -> Iterator[Finding]:
    """Compare what is installed with what the package declares; extras are optional."""
    from packaging.requirements import Requirement

    try:
        declared = [Requirement(line) for line in metadata.requires("rag-platform") or []]
    except metadata.PackageNotFoundError:
        yield Finding("packages", Verdict.missing, "rag-platform is not installed", "pip install -e .")
        return
    wrong: dict[str, list[str]] = {}
    for requirement in declared:
        extra = _EXTRA.search(str(requirement.marker))
        if problem := _package_problem(requirement.name, str(requirement.specifier)):
            wrong.setdefault(extra[1] if extra else "", []).append(problem)
    if missing := wrong.pop("", None):
        yield Finding("packages", Verdict.missing, ", ".join(missing), _install(""))
    else:
        yield Finding("packages", Verdict.ok, f"rag-platform {metadata.version('rag-platform')} is complete")
    for extra_name in sorted(set(wrong) - {"dev"}):
        found = ", ".join(wrong[extra_name])
        yield Finding(f"extra {extra_name}", Verdict.optional, found, _install(f"[{extra_name}]"))


def _install(extra: str) -> str:
    """Return how this installation gets an extra: from its checkout, where it runs from one."""
    origin = json.loads(metadata.distribution("rag-platform").read_text("direct_url.json") or "{}")
    checkout = (
        origin.get("url", "").removeprefix("file://") if origin.get("dir_info", {}).get("editable") else ""
    )
    return f"pip install -e '{checkout}{extra}'" if checkout else f"pip install 'rag-platform{extra}'"


def _package_problem(name: str, wanted: str) -> str:
    from packaging.specifiers import SpecifierSet

    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{name} is not installed"
    return "" if SpecifierSet(wanted).contains(version, prereleases=True) else f"{name} {version} ({wanted})"


def _tesseract(settings: Settings) -> Iterator[Finding]:
    program = shutil.which("tesseract")
    if program is None:
        yield Finding("tesseract", Verdict.missing, "not installed: scans cannot be read", _INSTALL_TESSERACT)
        return
    listed = subprocess.run(
        [program, "--list-langs"], capture_output=True, text=True, timeout=30, check=False
    )
    languages = {line.removeprefix("script/") for line in listed.stdout.splitlines()[1:]}
    wanted = [part for part in settings.tesseract_languages.split("+") if part] or list(_LANGUAGES)
    lacking = [name for name in wanted if name.removeprefix("script/") not in languages]
    if lacking:
        yield Finding("tesseract", Verdict.missing, f"no {', '.join(lacking)}", _INSTALL_TESSERACT)
    else:
        yield Finding("tesseract", Verdict.ok, f"{program} with {', '.join(wanted)}")


def _models(settings: Settings) -> Iterator[Finding]:
    try:
        named = named_models(settings.model_profiles).encoders
    except InvalidSetting as error:
        yield Finding(
            "setting RAG_MODEL_PROFILES", Verdict.missing, str(error), "the message says what to do"
        )
        return
    active = {resolve(name, named).name for name in (*settings.active_embedders, settings.embedding_model)}
    for spec in (*ENCODERS.values(), *named.values()):
        remedy = can_load(spec)
        use = "active" if spec.name in active else "available"
        if remedy is None:
            yield Finding(f"model {spec.name}", Verdict.ok, use)
        else:
            verdict = Verdict.missing if spec.name in active else Verdict.optional
            yield Finding(f"model {spec.name}", verdict, "cannot be loaded here", remedy)


def _profile(settings: Settings) -> Iterator[Finding]:
    """Show the settings in which the ``full`` profile of the reference system differs."""
    attributes = {str(field.validation_alias): name for name, field in Settings.model_fields.items()}
    for name, full in FULL_PROFILE.items():
        value = str(getattr(settings, attributes[name]))
        found = value or "unset"
        if value != full:
            found += f" (profile full: {full})"
        yield Finding(f"setting {name}", Verdict.ok, found)


def _home(settings: Settings) -> Finding:
    home = settings.root
    nearest = next(path for path in (home, *home.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        remedy = "make it writable, or set RAG_HOME to another folder"
        return Finding("RAG_HOME", Verdict.missing, f"{home}: {error.strerror}", remedy)
    free = shutil.disk_usage(nearest).free / 1e9
    state = "writable" if home.exists() else "not there yet, can be made"
    return Finding("RAG_HOME", Verdict.ok, f"{home}: {state}, {free:.0f} GB free")


def _published(settings: Settings) -> Iterator[Finding]:
    """Look at the index: is the server there, and is there a generation to search?"""
    if settings.qdrant_url:
        yield _server(settings)
    if not settings.home.expanduser().exists():
        yield Finding("published", Verdict.optional, "nothing is stored yet", _INGEST)
        return
    from rag_platform.system import System

    model = resolve(settings.embedding_model, named_models(settings.model_profiles).encoders).name
    what = f"{settings.collection_name} with {model}"
    try:
        manifest = System.from_settings(settings).index.current(settings.collection_name, model)
    except RagError as error:
        yield Finding("published", Verdict.missing, str(error), "the message says what to do")
        return
    if manifest is None:
        yield Finding("published", Verdict.optional, f"no generation of {what}", _INGEST)
    else:
        points = f"generation {manifest.generation}, {manifest.points} points"
        yield Finding("published", Verdict.ok, f"{what}: {points}")


def _server(settings: Settings) -> Finding:
    url = settings.qdrant_url.rstrip("/")
    headers = {"api-key": settings.qdrant_api_key} if settings.qdrant_api_key else {}
    try:
        request = urllib.request.Request(f"{url}/collections", headers=headers)
        with urllib.request.urlopen(request, timeout=5):
            return Finding("qdrant", Verdict.ok, f"{url} answers")
    except (OSError, ValueError) as error:
        remedy = "start the server, or correct QDRANT_URL and QDRANT_API_KEY; empty: the embedded engine"
        return Finding("qdrant", Verdict.missing, f"{url}: {error}", remedy)
