"""What searching costs beside the model, at several sizes: latency, publishing, recall, the peers' way.

Run ``python benchmarks/retrieval.py [--sizes 1000 10000 100000]``; it prints Markdown tables for
``docs/benchmarks.md``. Texts are real Nepali words with Zipf frequencies; vectors are mixes of real e5
vectors (on random vectors any graph finds nothing near). All follows from seeds. Each search is run three
times and its best time counts, because other work runs beside. 100,000 chunks are built in eight minutes of
processor time, so they are measured when asked for.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rag_platform.embedding.encoders import load_encoder
from rag_platform.index.edge import EdgeIndex
from rag_platform.index.lexicon import StoredLexicon
from rag_platform.index.shard import lexicon_folder
from rag_platform.protocols import CollectionReader, FloatArray, PointBatch
from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.search import Searcher
from rag_platform.text.romanize import rough_latin
from rag_platform.text.words import word_list
from rag_platform.types import Chunk, Condition, Fields, Mode, Prompt, chunk_id, document_id, fingerprint

COLLECTION, MODEL, DIM = "benchmark", "intfloat/multilingual-e5-small", 384
CHUNKS, WORDS = 10, 150
"""Chunks of a document, words of a chunk: 256 XLM-R tokens."""
ROUNDS, RECALL_QUERIES, PEER_QUERIES = 3, 100, 3
CHANGED = 500

_SUBJECTS = [
    "नगरपालिकाले",
    "विद्यालयले",
    "स्वास्थ्य चौकीले",
    "अदालतले",
    "खानेपानी समितिले",
    "मन्त्रालयले",
    "सहकारीले",
    "किसानले",
]
_OBJECTS = [
    "सम्पत्ति करको विवरण",
    "भर्नाको सूचना",
    "खोप कार्यक्रम",
    "मुद्दाको फैसला",
    "बजेटको सारांश",
    "बीउको अनुदान",
    "सडकको ठेक्का",
]
_VERBS = [
    "प्रकाशित गरेको छ।",
    "रोकेको छ।",
    "अर्को वर्ष सुरु गर्नेछ।",
    "हुलाकबाट पठायो।",
    "किन ढिला गर्‍यो?",
    "कसरी पाइन्छ?",
]
_ENGLISH = [
    "The ward office collects the tax.",
    "Children are vaccinated in spring.",
    "The road was closed by a flood.",
]


def real_vectors() -> FloatArray:
    """Return the vectors of some hundred sentences, as the bundled model encodes them."""
    sentences = [" ".join(parts) for parts in itertools.product(_SUBJECTS, _OBJECTS, _VERBS)] + _ENGLISH
    return load_encoder(MODEL).encode(sentences, "passage")


class Synthetic:
    """A corpus of any size that follows from its seeds: a document is made when it is loaded."""

    def __init__(self, n_chunks: int, basis: FloatArray) -> None:
        self.basis = basis
        words = np.array(sorted(word_list()))
        self.words = np.random.default_rng(1).permutation(words)[:60_000]
        self.cumulated = np.cumsum(1 / (np.arange(len(self.words)) + 2.7) ** 1.05)
        self.versions = {document_id(COLLECTION, f"{n}.txt"): (n, 0) for n in range(n_chunks // CHUNKS)}

    @property
    def documents(self) -> Mapping[str, str]:
        """What is published: each document with its version."""
        return {key: fingerprint(version) for key, version in self.versions.items()}

    def mixes(self, rng: np.random.Generator, n: int) -> FloatArray:
        """Return ``(n, 384)`` float32, each a mix of four real vectors, L2-normalised."""
        shares = rng.dirichlet([0.5] * 4, n).astype(np.float32)
        picked = self.basis[rng.integers(0, len(self.basis), (n, 4))]
        mixed = np.einsum("ns,nsd->nd", shares, picked)
        mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
        return np.asarray(mixed, dtype=np.float32)

    def text(self, rng: np.random.Generator, n_words: int) -> str:
        """Return words as frequent as in a language."""
        rows = np.searchsorted(self.cumulated, rng.random(n_words) * self.cumulated[-1])
        return " ".join(self.words[rows])

    def load(self, document_ids: Sequence[str]) -> Iterator[PointBatch]:
        """Yield the documents' points."""
        for key in document_ids:
            n, version = self.versions[key]
            rng = np.random.default_rng([n, version])
            chunks = [self._chunk(key, n, version, ordinal, rng) for ordinal in range(CHUNKS)]
            yield PointBatch(chunks, self.mixes(rng, CHUNKS))

    def _chunk(self, key: str, n: int, version: int, ordinal: int, rng: np.random.Generator) -> Chunk:
        text = self.text(rng, WORDS)
        day = 20_700_101 + 10_000 * (n % 15) + 100 * (n % 12)
        fields: Fields = {"ministry": (f"मन्त्रालय {n % 20}",), "year": (2070 + n % 15,), "published": (day,)}
        digest, end = fingerprint(n, version), ordinal + 1
        return Chunk(
            chunk_id=chunk_id(key, digest, "benchmark", ordinal, end),
            document_id=key,
            collection=COLLECTION,
            source=f"{n}.txt",
            content_sha256=digest,
            ordinal=ordinal,
            text=text,
            start=ordinal,
            end=end,
            page_first=1,
            page_last=1,
            token_count=256,
            overlap=0,
            kind="text",
            language="ne",
            path=f"भाग {n % 9} > दफा {ordinal}",
            fields=fields,
        )


class Drawn:
    """Stands where the model does: the vector of a question is a mix, drawn from the question."""

    name, dim, recipe, max_tokens = MODEL, DIM, "drawn", 512

    def __init__(self, corpus: Synthetic) -> None:
        self.pool = corpus.mixes(np.random.default_rng(3), 1_000)

    def prompted(self, text: str, prompt: Prompt) -> str:
        """Return the text."""
        return text

    def count_tokens(self, text: str, prompt: Prompt) -> int:
        """Return the number of words."""
        return len(text.split())

    def encode(self, texts: Sequence[str], prompt: Prompt) -> FloatArray:
        """Return a vector that is ready, so that no time of a model is counted."""
        return self.pool[[len(text) * 31 % len(self.pool) for text in texts]]


KINDS: dict[str, tuple[Mode, tuple[Condition, ...]]] = {
    "hybrid": ("hybrid", ()),
    "romanized": ("hybrid", ()),
    "dense": ("dense", ()),
    "lexical": ("lexical", ()),
    "`ministry=`, 5 %": ("hybrid", (Condition("ministry", "=", ("मन्त्रालय 7",)),)),
    "`year!=`, 93 %": ("hybrid", (Condition("year", "!=", (2081,)),)),
    "`published>=`, 27 %": ("hybrid", (Condition("published", ">=", (20_810_101,)),)),
    "`path=`, 1 %": ("hybrid", (Condition("path", "=", ("भाग 3 > दफा 4",)),)),
    "unknown field": ("hybrid", (Condition("nothing", ">", (1,)),)),
}


def latencies(searcher: Searcher, questions: Sequence[str], options: SearchOptions) -> NDArray[np.float64]:
    """Return the best milliseconds of each question."""

    def once(question: str) -> float:
        start = time.perf_counter()
        searcher.search(question, collection=COLLECTION, model=MODEL, options=options)
        return 1_000 * (time.perf_counter() - start)

    rounds = [[once(question) for question in questions] for _ in range(ROUNDS)]
    best: NDArray[np.float64] = np.min(rounds, axis=0)
    return best


def recall(reader: CollectionReader, corpus: Synthetic) -> float:
    """Return the share of the ten nearest vectors that the index finds."""
    points = [(point.chunk.chunk_id, point.vector) for point in reader.points()]
    ids, vectors = [key for key, _ in points], np.stack([vector for _, vector in points])
    shares = []
    for query in corpus.mixes(np.random.default_rng(9), RECALL_QUERIES):
        nearest = np.argpartition(-(vectors @ query), 10)[:10]
        found = {one.chunk_id for one in reader.dense(query, limit=10)}
        shares.append(len(found & {ids[row] for row in nearest}) / 10)
    return float(np.mean(shares))


def by_scrolling(reader: CollectionReader, question: str) -> None:
    """Search the peers' way: read all texts, build BM25 anew, score."""
    import bm25s

    texts = [point.chunk.text.split() for point in reader.points()]
    index = bm25s.BM25(method="lucene")
    index.index(texts, show_progress=False)
    np.argsort(-index.get_scores(question.split()))[:20]


def publish(index: EdgeIndex, corpus: Synthetic) -> float:
    """Publish what the corpus holds now, and return the seconds."""
    start = time.perf_counter()
    index.publish(COLLECTION, MODEL, dim=DIM, recipe="r", documents=corpus.documents, load=corpus.load)
    return time.perf_counter() - start


def row(*cells: object) -> None:
    """Print a row of a table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def measure(n: int, basis: FloatArray, n_queries: int, hnsw_ef: int) -> dict[str, NDArray[np.float64]]:
    """Publish ``n`` chunks, print what was measured, and return the latencies of each kind of search."""
    with tempfile.TemporaryDirectory() as folder:
        corpus, index = Synthetic(n, basis), EdgeIndex(Path(folder), hnsw_ef=hnsw_ef)
        row(f"{n:,} chunks: index build, a thousand chunks", f"{publish(index, corpus) / n * 1_000:.2f} s")
        reader = index.open(COLLECTION, MODEL)
        start = time.perf_counter()
        lexicon = StoredLexicon.open(lexicon_folder(Path(reader.manifest.address)), n)
        row("opening the lexicon", f"{1_000 * (time.perf_counter() - start):.1f} ms")
        row(f"recall@10, hnsw_ef {hnsw_ef}", f"{recall(reader, corpus):.4f}")
        encoder, rng = Drawn(corpus), np.random.default_rng(5)
        searcher = Searcher(index, lambda _: encoder)
        questions = [corpus.text(rng, 3 + no % 6) for no in range(n_queries)]
        typed = [" ".join(rough_latin(word) for word in one.split()) for one in questions]
        taken = {}
        for name, (mode, where) in KINDS.items():
            asked = typed if name == "romanized" else questions
            taken[name] = latencies(searcher, asked, SearchOptions(mode=mode, where=where))
        start = time.perf_counter()
        for question in questions[:PEER_QUERIES]:
            by_scrolling(reader, question)
        peers = 1_000 * (time.perf_counter() - start) / PEER_QUERIES
        row("BM25 rebuilt by scrolling, a question", f"{peers:,.0f} ms")
        row("times our lexical search, p50", f"{peers / np.median(taken['lexical']):,.0f}")
        assert lexicon.n_chunks == reader.count()
        for key in list(corpus.versions)[: CHANGED // CHUNKS]:
            corpus.versions[key] = (corpus.versions[key][0], 1)
        row(f"publishing {CHANGED} changed chunks", f"{publish(index, corpus):.2f} s")
        return taken


def main() -> None:
    """Measure every size and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--hnsw-ef", type=int, default=256)
    arguments = parser.parse_args()
    basis = real_vectors()
    row("what", "measured")
    row("---", "---")
    taken = {n: measure(n, basis, arguments.queries, arguments.hnsw_ef) for n in arguments.sizes}
    print()
    row("search, p50 and p95 in ms", *(f"{n:,} chunks" for n in taken), "growth of p50")
    row("---", *("---" for _ in taken), "---")
    for name in KINDS:
        cells = [f"{np.median(one[name]):.1f}, {np.percentile(one[name], 95):.1f}" for one in taken.values()]
        medians = [float(np.median(one[name])) for one in taken.values()]
        row(name, *cells, f"{medians[-1] / medians[0]:.1f}")


if __name__ == "__main__":
    main()
