"""The check of ``leaderboard``: no run falls behind the one before it; the library judges."""

# No postponed annotations here: Dagster reads the type of ``context`` from the function itself.
import dagster as dg

from assets.metadata import Metadata
from assets.platform import Platform
from rag_platform.errors import CallerError, NotPublished
from rag_platform.evaluation.gate import MAX_DROP, since_last
from rag_platform.evaluation.results import Run, last_used

__all__ = ["GateConfig", "keeps_up"]


class GateConfig(dg.Config):
    """What a run must reach."""

    run_id: str = ""
    """Its id or name; empty: the one that was worked on last."""
    minimums: dict[str, float] = {}  # noqa: RUF012 - a default of a pydantic model is copied
    """Measure -> smallest mean that passes."""
    max_drop: float = MAX_DROP
    """Largest mean drop in the first measure from the newest earlier run of the same questions."""


@dg.asset_check(asset="leaderboard")
def keeps_up(config: GateConfig, platform: dg.ResourceParam[Platform]) -> dg.AssetCheckResult:
    """The best cell reaches the minimums, and is no worse than that of the run before."""
    home = platform.system.home
    try:
        run = Run.load(home, config.run_id) if config.run_id else last_used(home)
        verdict = since_last(home, run, minimums=config.minimums, max_drop=config.max_drop)
    except NotPublished as error:  # nothing was swept yet
        return dg.AssetCheckResult(passed=True, description=str(error))
    except CallerError as error:  # no complete cell, or no such measure: nothing was judged
        return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN, description=str(error))
    if verdict is None:
        return dg.AssetCheckResult(passed=True, description="no earlier run of the same questions")
    metadata: Metadata = {"result": verdict.result, "baseline": verdict.baseline or "none"}
    for check in verdict.checks:
        name = f"{check.measure} {check.rule}"
        metadata |= {name: check.value, f"{name} low": check.low, f"{name} high": check.high}
    return dg.AssetCheckResult(passed=verdict.passed, metadata=metadata, description=verdict.reason or None)
