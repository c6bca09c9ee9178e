"""What serving costs and whether it holds: 64 clients ask ``rag serve`` while generations are published.

Run ``make bench-serving``, or ``python benchmarks/serving --seconds 10`` for a first look; it prints the
tables of ``docs/benchmarks.md``. It fails where an answer is no 200, 429 or 503 with Retry-After, or has
hits of another generation than it names, or where no generation is published. The service, the clients and
the publisher are processes of their own and share the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from client import Asked, Measured, ended, load
from corpus import N_DOCUMENTS, REPEATED
from service import Service, platform_of, publish, publishing, serving

MODELS = ("hashing", "intfloat/multilingual-e5-small")
CLIENTS, PEER_S = 64, 4.0
PEERS = str(Path(__file__).with_name("peers.py"))


@dataclass
class Row:
    """One setting: what was measured, and what it is held against."""

    name: str
    measured: Measured
    service_s: float
    alone: Measured
    published: list[float]
    without_http: float

    @property
    def a_core(self) -> float:
        """Requests a second of the service's processor time."""
        return len(self.measured.took) / self.service_s


def measure(service: Service, home: Path, model: str, seconds: float, *, repeated: bool) -> Row:
    """Load the service for a while."""
    name = f"{model.rpartition('/')[2]}, {'warm' if repeated else 'cold'}"
    print(f"{name} ...", file=sys.stderr, flush=True)
    if repeated:
        ended(load(Asked(service.port, 1, n_requests=REPEATED, repeated=True)))
    publisher, began = publishing(home, model, seconds), service.cpu_s()
    found = ended(load(Asked(service.port, CLIENTS, seconds, repeated=repeated, start=1_000, streams=1)))
    took = service.cpu_s() - began
    written, _ = publisher.communicate()
    alone = ended(load(Asked(service.port, 0, start=5_000_000, streams=1)))
    faults = [*found.faults, *alone.faults]
    published = json.loads(written) if publisher.returncode == 0 else []
    if faults or not published:
        raise SystemExit(f"{name}: {len(faults)} faults, {len(published)} generations: {faults[:3]}")
    peer = [sys.executable, PEERS, json.dumps([str(home), model, PEER_S, repeated])]
    return Row(name, found, took, alone, published, float(subprocess.check_output(peer)))


def echoed() -> float:
    """Return what a bare route answers a second of the service's processor time."""
    with tempfile.TemporaryDirectory() as home, serving(Path(home), "hashing", command=(PEERS,)) as service:
        began = service.cpu_s()
        found = ended(load(Asked(service.port, CLIENTS, PEER_S, path="/echo")))
        if found.faults:
            raise SystemExit(f"the bare route: {found.faults[:3]}")
        return len(found.took) / (service.cpu_s() - began)


def rows(seconds: float) -> list[Row]:
    """Measure all settings, each model over documents of its own."""
    found = []
    for model in MODELS:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            publish(platform_of(home, model), 1, list(range(N_DOCUMENTS)))
            with serving(home, model) as service:
                for repeated in (False, True):
                    found.append(measure(service, home, model, seconds, repeated=repeated))
    return found


def told(found: list[Row], bare: float) -> None:
    """Print the tables."""
    print("| setting | requests | a second | a core second | p50, p95, p99 in ms | statuses |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    for one in found:
        times, wall_s = one.measured.took, one.measured.wall_s
        statuses = ", ".join(f"{n:,} x {status}" for status, n in sorted(one.measured.statuses.items()))
        cells = (
            f"{len(times):,}",
            f"{len(times) / wall_s:.0f}",
            f"{one.a_core:.0f}",
            _points(times, 50, 95, 99),
        )
        print(f"| {' | '.join([one.name, *cells, statuses])} |")
    print()
    print(
        "| setting | without HTTP, a core second | ratio | first word of a stream under load; alone: p50, p95"
        " in ms | generations published | p50, longest in s | clients' part of one core |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for one in found:
        first = f"{_points(one.measured.first, 50, 95)}; {_points(one.alone.first, 50, 95)}"
        published = f"{np.median(one.published):.1f}, {max(one.published):.1f}"
        cells = (
            f"{one.without_http:.0f}",
            f"{one.a_core / one.without_http:.2f}",
            first,
            str(len(one.published)),
            published,
            f"{one.measured.client_s / one.measured.wall_s:.0%}",
        )
        print(f"| {' | '.join([one.name, *cells])} |")
    print()
    best = max(one.a_core for one in found)
    load_1, load_5, _ = os.getloadavg()
    print(
        f"A bare Starlette route behind the same server: {bare:,.0f} a core second, {bare / best:.1f} times\n"
        f"the best row. No failed and no mixed answer. Load average at the end: {load_1:.1f}, over five\n"
        f"minutes {load_5:.1f}, on {os.cpu_count()} cores."
    )


def _points(times: list[float], *points: int) -> str:
    if not times:
        return "none"
    return ", ".join(f"{one:,.0f}" if one >= 10 else f"{one:.1f}" for one in np.percentile(times, points))


def main() -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each of the four settings")
    seconds = parser.parse_args().seconds
    bare = echoed()
    told(rows(seconds), bare)


if __name__ == "__main__":
    main()
