"""``/metrics``: what a service counts of itself, for Prometheus.

Labels come from bounded sets alone: route templates, our own codes, what is configured and what is published.
Nothing a caller sends becomes one, so nobody makes the service grow by asking.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from rag_platform import __version__
from rag_platform.caching import Cache
from rag_platform.errors import RagError
from rag_platform.watching import Call
from serving.schemas.state import ReadyAnswer
from serving.service import Service
from serving.watch import Watched

__all__ = ["Metrics"]

_REQUEST_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_STEP_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_CALL_S = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120)
_REFUSALS = ("rate_limited", "overloaded", "deadline_exceeded", "unauthenticated")
"""Told from the start, at 0: what was never seen cannot be watched for its growth."""
_MOST_COLLECTIONS = 200
"""Generations that have series of their own; who may upload may make collections."""
_LOOK_EVERY_S = 60.0
"""How long a new collection may be unseen; a new generation of a known one is seen at once."""


class Metrics:
    """The counts of one application, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = one = CollectorRegistry(auto_describe=True)
        self.service: Service | None = None
        self._requests = Counter(
            "rag_http_requests", "Requests by route and status.", ["method", "route", "status"], registry=one
        )
        self._seconds = Histogram(
            "rag_http_request_seconds",
            "Time to the end of the answer.",
            ["method", "route"],
            buckets=_REQUEST_S,
            registry=one,
        )
        self._in_flight = Gauge("rag_http_requests_in_flight", "Requests under way.", registry=one)
        self._errors = Counter(
            "rag_http_errors",
            "Answers that are errors, by code: rate_limited and overloaded are those that were turned away.",
            ["code"],
            registry=one,
        )
        self._steps = Histogram(
            "rag_step_seconds", "Time of the steps of questions.", ["step"], buckets=_STEP_S, registry=one
        )
        self._calls = Counter(
            "rag_upstream_requests",
            "Requests to hosted models, by what they do, whose they are and what came back.",
            ["role", "provider", "code"],
            registry=one,
        )
        self._call_seconds = Histogram(
            "rag_upstream_seconds",
            "Time until a hosted model answered.",
            ["role", "provider"],
            buckets=_CALL_S,
            registry=one,
        )
        for code in _REFUSALS:
            self._errors.labels(code)
        ProcessCollector(registry=one)
        one.register(_State(self))

    def began(self) -> None:
        """Count a request that is under way."""
        self._in_flight.inc()

    def ended(self, watched: Watched) -> None:
        """Count a request that is answered."""
        self._in_flight.dec()
        self._requests.labels(watched.method, watched.route, str(watched.status)).inc()
        self._seconds.labels(watched.method, watched.route).observe(watched.seconds)
        if watched.code:
            self._errors.labels(watched.code).inc()
        for step, milliseconds in watched.steps.items():
            self.spent(step, milliseconds)

    def spent(self, step: str, milliseconds: float) -> None:
        """Count a step of what is no request: the service's own work."""
        self._steps.labels(step).observe(milliseconds / 1_000)

    def called(self, call: Call) -> None:
        """Count a request to a hosted model."""
        self._calls.labels(call.role, call.provider, call.code).inc()
        self._call_seconds.labels(call.role, call.provider).observe(call.seconds)

    def written(self, accept: str) -> tuple[bytes, str]:
        """Return all counts in a form that the reader accepts, and what form that is."""
        encode, kind = choose_encoder(accept)
        return encode(self.registry), kind


class _State(Collector):
    """What is not counted as it happens, but looked at when somebody asks."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._known: dict[tuple[str, str], tuple[str | None, int, int]] = {}
        self._looked = float("-inf")

    def describe(self) -> list[Metric]:
        """Name nothing beforehand: there is no service yet."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the state of the service, once it has begun."""
        build = GaugeMetricFamily("rag_build_info", "The version that runs.", labels=["version"])
        build.add_metric([__version__], 1)
        yield build
        service = self._metrics.service
        if service is None:
            return
        yield from _caches(service)
        yield from _jobs(service)
        yield from self._generations(service)

    def _generations(self, service: Service) -> Iterator[Metric]:
        reachable = GaugeMetricFamily("rag_index_reachable", "1: the index can be asked.")
        ready = GaugeMetricFamily("rag_ready", "1: the default collection can be searched.")
        generation = GaugeMetricFamily(
            "rag_generation", "The generation that is served.", labels=["collection", "model"]
        )
        points = GaugeMetricFamily(
            "rag_generation_points", "Passages of that generation.", labels=["collection", "model"]
        )
        try:
            self._look(service)
            is_ready = isinstance(service.readiness(), ReadyAnswer)
        except RagError:
            reachable.add_metric([], 0)
            ready.add_metric([], 0)
        else:
            reachable.add_metric([], 1)
            ready.add_metric([], is_ready)
            for key, (_, number, n_points) in sorted(self._known.items())[:_MOST_COLLECTIONS]:
                generation.add_metric(key, number)
                points.add_metric(key, n_points)
        yield from (reachable, ready, generation, points)

    def _look(self, service: Service) -> None:
        """See what is published; the manifest of a generation, which may be large, is read once."""
        index = service.system.index
        if not self._known or time.monotonic() - self._looked > _LOOK_EVERY_S:
            found = {(one.collection, one.model): one for one in index.published()}
            self._known = {
                key: (index.version(*key), one.generation, one.points) for key, one in found.items()
            }
            self._looked = time.monotonic()
        for key, (seen, *_) in list(self._known.items()):
            version = index.version(*key)
            if version != seen:
                one = index.current(*key)
                if one is None:
                    del self._known[key]
                else:
                    self._known[key] = (version, one.generation, one.points)


def _caches(service: Service) -> Iterator[Metric]:
    asked = CounterMetricFamily(
        "rag_cache_requests",
        "What caches were asked for: hit, joined (made for another just then) and miss.",
        labels=["cache", "result"],
    )
    entries = GaugeMetricFamily("rag_cache_entries", "What caches hold.", labels=["cache"])
    n_bytes = GaugeMetricFamily("rag_cache_bytes", "What caches take.", labels=["cache"])
    memory = service.system.memory
    caches: dict[str, Cache] = {"vectors": memory.vectors, "results": memory.results}  # type: ignore[type-arg]
    for name, cache in caches.items():
        counts = cache.counts
        asked.add_metric([name, "hit"], counts.hits)
        asked.add_metric([name, "joined"], counts.joined)
        asked.add_metric([name, "miss"], counts.misses)
        entries.add_metric([name], counts.entries)
        n_bytes.add_metric([name], counts.n_bytes)
    yield from (asked, entries, n_bytes)


def _jobs(service: Service) -> Iterator[Metric]:
    under_way = GaugeMetricFamily("rag_ingestion_jobs", "Jobs that have no end yet.", labels=["status"])
    ended = CounterMetricFamily("rag_ingestion_jobs_ended", "Jobs that ended.", labels=["status"])
    for status, n in service.ingestions.under_way.items():
        under_way.add_metric([status], n)
    for status, n in service.ingestions.ended_by_status.items():
        ended.add_metric([status], n)
    yield from (under_way, ended)
