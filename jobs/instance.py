"""The Dagster instance of a ``RAG_HOME``: one ``dagster.yaml`` for the repository, rendered for each home.

The root ``dagster.yaml`` is what plain ``dagster dev`` reads, with paths below ``.rag/dagster``; here the
same content gets absolute paths below ``$RAG_HOME/dagster``, so that every way in shares one history.
``python -m jobs.instance`` renders it and prints the folder, for ``DAGSTER_HOME``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import yaml
from dagster._core.instance.ref import InstanceRef

from rag_platform.settings import Settings
from rag_platform.storage import atomic

__all__ = ["home_for", "instance_for", "rendered", "template"]

_BASE = Path(".rag/dagster")
_MARK = "# Rendered from the project's dagster.yaml at each start; without this line your changes stay.\n"


def template() -> str:
    """Return the text of the project's ``dagster.yaml``: beside this file in a wheel, above it elsewhere."""
    here = Path(__file__).resolve()
    packaged = here.with_name("dagster.yaml")
    return (packaged if packaged.exists() else here.parent.parent / "dagster.yaml").read_text("utf-8")


def rendered(home: Path) -> str:
    """Return ``dagster.yaml`` with every path below ``home``."""
    return _MARK + yaml.safe_dump(_moved(yaml.safe_load(template()), home), sort_keys=False)


def home_for(settings: Settings) -> Path:
    """Render the ``dagster.yaml`` of these settings' home and return the folder for ``DAGSTER_HOME``."""
    home = settings.root / "dagster"
    file, wanted = home / "dagster.yaml", rendered(home)
    found = file.read_text("utf-8") if file.exists() else _MARK
    if found.startswith(_MARK) and found != wanted:
        with atomic(file) as out:
            out.write(wanted.encode())
    return home


@contextmanager
def instance_for(settings: Settings) -> Iterator[dg.DagsterInstance]:
    """Open the instance of ``$RAG_HOME/dagster`` for work in this process.

    Three things differ from what the daemon sees: output is not captured into files, so that a progress
    bar stays where it is; pools do not hold the work up, because somebody waits for it; and the event
    log's files stay open.
    """
    home = home_for(settings)
    overrides: dict[str, Any] = {
        "compute_logs": {
            "module": "dagster._core.storage.noop_compute_log_manager",
            "class": "NoOpComputeLogManager",
        },
        "concurrency": {"pools": {"granularity": "run"}},
    }
    sqlite = yaml.safe_load((home / "dagster.yaml").read_text("utf-8")).get("storage", {}).get("sqlite")
    if sqlite:
        custom = {"module": "jobs.event_log", "class": "OpenSqliteStorage", "config": sqlite}
        overrides["storage"] = {"custom": custom}
    with dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(home), overrides=overrides)) as instance:
        yield instance


def _moved(value: object, home: Path) -> object:
    if isinstance(value, dict):
        return {key: _moved(inner, home) for key, inner in value.items()}
    if isinstance(value, list):
        return [_moved(inner, home) for inner in value]
    if isinstance(value, str) and Path(value).is_relative_to(_BASE):
        return str(home / Path(value).relative_to(_BASE))
    return value


if __name__ == "__main__":
    sys.stdout.write(f"{home_for(Settings.load())}\n")
