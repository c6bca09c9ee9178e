"""What Dagster loads: ``defs``, and ``build_defs`` for tests and for other resources.

Only wiring. No setting is read and nothing is created here, so that a fresh clone loads without a
single environment variable.
"""

from __future__ import annotations

from collections.abc import Mapping

from rag_platform.privacy import keep_private

keep_private()

import dagster as dg  # noqa: E402 - reads the environment when it is imported

from assets.checks import CHECKS  # noqa: E402
from jobs.asset_jobs import ASSETS, EXECUTOR, JOBS, RESOURCES  # noqa: E402
from jobs.schedules import SCHEDULES  # noqa: E402
from sensors.chain import documents_done, embeddings_done  # noqa: E402
from sensors.failure import lost_runs, run_canceled, run_failed  # noqa: E402
from sensors.inbox import inbox_sensor  # noqa: E402

__all__ = ["build_defs", "defs"]


def build_defs(resource_overrides: Mapping[str, object] | None = None) -> dg.Definitions:
    """Return all definitions.

    Args:
        resource_overrides: Resources by name that take the place of the usual ones (``platform``).
    """
    return dg.Definitions(
        assets=ASSETS,
        asset_checks=CHECKS,
        jobs=JOBS,
        schedules=SCHEDULES,
        sensors=[inbox_sensor, documents_done, embeddings_done, run_failed, run_canceled, lost_runs],
        resources={**RESOURCES, **(resource_overrides or {})},
        executor=EXECUTOR,
    )


defs = build_defs()
