"""What Dagster costs: the same small text files ingested by the library alone and through the three jobs.

Run ``python benchmarks/ingest.py``; it prints a Markdown table for ``docs/benchmarks.md``. Both ways run in
this process, on fresh homes, the library first; ratios of one run, never absolute promises.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Callable, Iterator

from jobs.claims import new_owner
from jobs.run import ingest, instance_for
from rag_platform import pipeline
from rag_platform.settings import Settings
from rag_platform.system import System

_SUBJECTS = ["नगरपालिकाले", "विद्यालयले", "स्वास्थ्य चौकीले", "वडा कार्यालयले", "खानेपानी समितिले"]
_OBJECTS = ["सम्पत्ति करको विवरण", "भर्नाको सूचना", "खोप कार्यक्रम", "बजेटको सारांश", "मर्मतको तालिका"]
_VERBS = ["प्रकाशित गरेको छ।", "सार्वजनिक गर्नेछ।", "सबैलाई जानकारी गराएको छ।", "हुलाकबाट पठाएको छ।"]


def texts(n: int) -> Iterator[tuple[str, str]]:
    """Yield ``n`` one-page texts of about 80 words, no two alike."""
    sentences = [" ".join(parts) for parts in itertools.product(_SUBJECTS, _OBJECTS, _VERBS)]
    for no in range(n):
        body = " ".join(sentences[(no * 7 + i * 3) % len(sentences)] for i in range(12))
        yield f"{no:05d} सूचना.txt", f"सूचना नम्बर {no}\n\n{body}\n"


def by_library(system: System) -> None:
    """Ingest what lies in the inbox without Dagster."""
    model = system.settings.embedding_model
    listing = system.inbox.scan(system.catalog.collections())
    vouched = {(file.collection, file.source) for file in listing.files}
    system.catalog.observe(listing, now=time.time(), quiet_s=0, complete=vouched)
    system.catalog.claim("library", alive=lambda _: True)
    todo = pipeline.plan(system, [model], owner="library")
    pipeline.raw_documents(system, todo.documents)
    pipeline.pages(system, todo.documents)
    pipeline.chunks(system, todo.documents)
    todo = pipeline.plan(system, [model], owner="library")
    for name, partitions in todo.embed.items():
        pipeline.embeddings(system, partitions, name)
    pipeline.publish(system, model)
    system.catalog.finish("library")


def by_dagster(system: System) -> None:
    """Ingest what lies in the inbox through the Dagster jobs, on a fresh instance."""
    listing = system.inbox.scan(system.catalog.collections())
    vouched = {(file.collection, file.source) for file in listing.files}
    system.catalog.observe(listing, now=time.time(), quiet_s=0, complete=vouched)
    with instance_for(system.settings) as instance:
        ingest(
            system,
            instance,
            sources=None,
            owner=new_owner("cli"),
            models=system.settings.active_embedders,
            force=False,
        )


def measure(run: Callable[[System], None], n: int, model: str) -> float:
    """Return the seconds that ``run`` takes for ``n`` texts on a fresh home."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.load(None, RAG_HOME=folder, EMBEDDING_MODEL=model, RAG_WORKERS=1)
        system = System.from_settings(settings)
        system.encoder(model).encode(["तातो"], "passage")
        for source, text in texts(n):
            (system.inbox.root / source).write_text(text, encoding="utf-8")
        start = time.perf_counter()
        run(system)
        seconds = time.perf_counter() - start
        points = system.index.open(system.catalog.collections()[0], system.encoder(model).name).count()
        if points != n:
            raise SystemExit(f"{points} points of {n} texts: the benchmark does not measure what it says")
        return seconds


def main() -> None:
    """Measure every combination and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, nargs="+", default=[200, 1000])
    parser.add_argument("--models", nargs="+", default=["hashing", "intfloat/multilingual-e5-small"])
    arguments = parser.parse_args()
    print("| files | model | library | through Dagster | ratio |\n| --- | --- | --- | --- | --- |")
    for n, model in itertools.product(arguments.files, arguments.models):
        library, dagster = measure(by_library, n, model), measure(by_dagster, n, model)
        print(f"| {n} | {model} | {library:.1f} s | {dagster:.1f} s | {dagster / library:.2f} |", flush=True)


if __name__ == "__main__":
    main()
