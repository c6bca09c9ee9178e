"""Dirt in a published collection, looked for the way search finds it: over its points, through the reader.

The facts of every chunk are gathered in one pass; what compares chunks with each other does so over a sample,
so that time and memory stay bounded. What is dirt in one text stands in ``dirt``, gaps of numbers in
``sections``, hubs in ``hubs``.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from rag_platform.audit.dirt import foreign_runs, pieces, typed_for_legacy_font
from rag_platform.audit.hubs import MIN_POINTS, Hubness, Probe, hubness
from rag_platform.audit.likeness import Signature, folded_words, groups, near_groups, signature, text_key
from rag_platform.audit.sections import Clauses
from rag_platform.protocols import CollectionReader
from rag_platform.types import Chunk

__all__ = ["KINDS", "CollectionAudit", "Finding", "audit_collection"]

KINDS = (
    "foreign", "legacy", "gap", "boilerplate", "duplicate", "near_duplicate", "hub", "short", "long",
)  # fmt: skip
"""Kinds of findings, in the order of the report."""

_KEPT = 200
"""Findings of a kind that are kept; all are counted."""
_N_PROBES = 1_000
_SEED = 20260
_SHORT, _LONG = 0.1, 4.0
"""Parts of the median length below and above which a chunk is an outlier."""
_FEW = 20
"""Fewer chunks have no median to speak of."""
_REPEATS = 5
"""Chunks with the same line or sentence, from which it is boilerplate; overlaps do not count."""
_LEAST_WORDS = 10
"""Shorter chunks are no near duplicates of each other, only equal ones."""
_RUNS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """One piece of dirt: where (the first of several places), what, and the text it is in."""

    kind: str
    message: str
    source: str
    page: int
    chunk_id: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class CollectionAudit:
    """What was found in one published generation.

    Attributes:
        sampled: Chunks whose texts were compared; all of them where there are no more.
        counts: Number of findings by kind, those left out of ``findings`` included.
        findings: At most 200 of a kind, the worst first where there is a worse.
        hubness: None where the collection is too small.
        notes: What was not looked at, and why.
    """

    collection: str
    model: str
    generation: int
    points: int
    documents: int
    sampled: int
    counts: dict[str, int]
    findings: tuple[Finding, ...]
    hubness: Hubness | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    chunk_id: str
    document: int
    page: int


@dataclass
class _Facts:
    """What one pass over the points gathers; lists and arrays are parallel, one entry a chunk."""

    sample: int
    places: list[_Place] = field(default_factory=list)
    lengths: array[int] = field(default_factory=lambda: array("l"))
    sources: list[str] = field(default_factory=list)
    clauses: list[Clauses] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    signatures: list[Signature | None] = field(default_factory=list)
    pieces: array[int] = field(default_factory=lambda: array("q"))
    pieces_of: array[int] = field(default_factory=lambda: array("l"))
    findings: list[Finding] = field(default_factory=list)
    _documents: dict[str, int] = field(default_factory=dict)

    def add(self, chunk: Chunk) -> int:
        """Take one chunk and return its document's number."""
        document = self._documents.setdefault(chunk.document_id, len(self.sources))
        if document == len(self.sources):
            self.sources.append(chunk.source)
            self.clauses.append(Clauses())
        at = len(self.places)
        self.places.append(_Place(chunk.chunk_id, document, chunk.page_first))
        self.lengths.append(len(chunk.text))
        self.clauses[document].add(chunk.ordinal, chunk.path, chunk.text)
        if at < self.sample:
            self._compare(at, chunk)
        return document

    def _compare(self, at: int, chunk: Chunk) -> None:
        self.findings += _dirt(chunk)
        words = folded_words(chunk.text)
        self.keys.append(text_key(words))
        self.signatures.append(signature(words) if len(words) >= _LEAST_WORDS else None)
        for key in {_number(key) for _, key in pieces(chunk.text[chunk.overlap :])}:
            self.pieces.append(key)
            self.pieces_of.append(at)

    def finding(self, kind: str, at: int, message: str, text: str = "") -> Finding:
        """Return a finding at a chunk."""
        place = self.places[at]
        return Finding(kind, message, self.sources[place.document], place.page, place.chunk_id, text)


def audit_collection(
    reader: CollectionReader,
    *,
    sample: int = 100_000,
    n_probes: int = _N_PROBES,
    seed: int = _SEED,
    progress: Callable[[str], None] | None = None,
) -> CollectionAudit:
    """Look for dirt in a published generation.

    Args:
        reader: The generation.
        sample: Chunks whose texts are compared. Points come in the order of their ids, which are hashes, so
            the first ones are a fair sample, the same one each time.
        n_probes: Questions asked to find hubs.
        seed: Of the choice of these questions.
        progress: Called with the source of each chunk.
    """
    n_points = reader.count()
    facts = _Facts(sample)
    asked = np.random.default_rng(seed).choice(n_points, min(n_probes, n_points), replace=False)
    wanted = frozenset(asked.tolist())
    for at, point in enumerate(reader.points()):
        document = facts.add(point.chunk)
        if at in wanted:
            facts.probes.append(Probe(document, point.vector))
        if progress is not None:
            progress(point.chunk.source)
    spread, hubs, notes = _hubs(reader, facts)
    if n_points > sample:
        notes.append(
            f"texts were compared over a sample of {sample} of {n_points} chunks; raise it with --sample"
        )
    found = [*facts.findings, *_gaps(facts), *_boilerplate(reader, facts), *_copies(facts), *hubs]
    return _audit(reader, facts, [*found, *_outliers(facts)], spread, notes)


def _audit(
    reader: CollectionReader,
    facts: _Facts,
    found: Sequence[Finding],
    spread: Hubness | None,
    notes: Sequence[str],
) -> CollectionAudit:
    by_kind: dict[str, list[Finding]] = {kind: [] for kind in KINDS}
    for finding in found:
        by_kind[finding.kind].append(finding)
    kept = [finding for kind in KINDS for finding in by_kind[kind][:_KEPT]]
    texts = _texts(
        reader, [finding.chunk_id for finding in kept if not finding.text and finding.kind != "gap"]
    )
    manifest = reader.manifest
    return CollectionAudit(
        collection=manifest.collection,
        model=manifest.model,
        generation=manifest.generation,
        points=len(facts.places),
        documents=len(facts.sources),
        sampled=len(facts.keys),
        counts={kind: len(findings) for kind, findings in by_kind.items()},
        findings=tuple(_with_text(finding, texts) for finding in kept),
        hubness=spread,
        notes=tuple(notes),
    )


def _with_text(finding: Finding, texts: dict[str, str]) -> Finding:
    text = finding.text or texts.get(finding.chunk_id, "")
    return Finding(finding.kind, finding.message, finding.source, finding.page, finding.chunk_id, text)


def _texts(reader: CollectionReader, chunk_ids: Sequence[str]) -> dict[str, str]:
    return {key: chunk.text for key, chunk in reader.fetch(list(dict.fromkeys(chunk_ids))).items()}


def _dirt(chunk: Chunk) -> Iterator[Finding]:
    """Yield what is wrong with one chunk's text."""
    place = (chunk.source, chunk.page_first, chunk.chunk_id)
    runs = foreign_runs(chunk.text)
    if runs:
        shown = ", ".join(runs[:_RUNS_SHOWN])
        yield Finding("foreign", f"{len(runs)} words with foreign letters: {shown}", *place)
    share = typed_for_legacy_font(chunk.text)
    if share:
        yield Finding("legacy", f"{share:.0%} of it is typed for a legacy font", *place)


def _outliers(facts: _Facts) -> Iterator[Finding]:
    """Yield chunks far shorter or longer than the median, shortest and longest first."""
    if len(facts.lengths) < _FEW:
        return
    lengths = np.asarray(facts.lengths)
    median = float(np.median(lengths))
    order = np.argsort(lengths, kind="stable").tolist()
    for kind, places in (("short", order), ("long", order[::-1])):
        for at in places:
            length = int(lengths[at])
            if _SHORT * median <= length <= _LONG * median:
                break
            yield facts.finding(kind, at, f"{length} characters; the median is {median:.0f}")


def _gaps(facts: _Facts) -> Iterator[Finding]:
    first = {place.document: at for at, place in reversed([*enumerate(facts.places)])}
    for document, clauses in enumerate(facts.clauses):
        for gap in clauses.gaps():
            numbers = ", ".join(map(str, gap.missing))
            message = f"दफा {numbers} missing between {gap.after} and {gap.before}"
            place = facts.places[first[document]]
            yield Finding("gap", message, facts.sources[document], 0, place.chunk_id)


def _boilerplate(reader: CollectionReader, facts: _Facts) -> Iterator[Finding]:
    """Yield lines and sentences that stand in many chunks, the most frequent first."""
    if not facts.pieces:
        return
    keys, chunks = np.asarray(facts.pieces), np.asarray(facts.pieces_of)
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.r_[True, keys[order][1:] != keys[order][:-1]])
    ends = np.r_[starts[1:], len(keys)]
    many = np.flatnonzero(ends - starts >= _REPEATS)
    many = many[np.argsort(starts[many] - ends[many], kind="stable")]
    shown = [order[starts[one]] for one in many[:_KEPT]]
    texts = _texts(reader, [facts.places[chunks[at]].chunk_id for at in shown])
    for one in many:
        members = chunks[order[starts[one] : ends[one]]].tolist()
        at = members[0]
        n_documents = len({facts.places[member].document for member in members})
        text = _piece(texts.get(facts.places[at].chunk_id, ""), int(keys[order[starts[one]]]))
        yield facts.finding("boilerplate", at, f"in {len(members)} chunks of {n_documents} documents", text)


def _number(key: str) -> int:
    """Return a piece's key as 64 bits: a million texts in the memory of their numbers."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big", signed=True)


def _piece(text: str, wanted: int) -> str:
    return next((piece for piece, key in pieces(text) if _number(key) == wanted), "")


def _copies(facts: _Facts) -> Iterator[Finding]:
    """Yield groups of chunks with the same text, then of those with nearly the same, largest first."""
    same = sorted(groups(facts.keys), key=len, reverse=True)
    for members in same:
        yield facts.finding("duplicate", members[0], _where(facts, members, "the same text"))
    copies = {at for members in same for at in members[1:]}
    places = [at for at, one in enumerate(facts.signatures) if one is not None and at not in copies]
    compared = [one for at in places if (one := facts.signatures[at]) is not None]
    for alike in sorted(near_groups(compared), key=len, reverse=True):
        members = [places[at] for at in alike]
        yield facts.finding("near_duplicate", members[0], _where(facts, members, "nearly the same text"))


def _where(facts: _Facts, members: Sequence[int], what: str) -> str:
    names = dict.fromkeys(facts.sources[facts.places[at].document] for at in members)
    shown = ", ".join([*names][:_RUNS_SHOWN])
    return f"{what} in {len(members)} chunks of {len(names)} documents: {shown}"


def _hubs(reader: CollectionReader, facts: _Facts) -> tuple[Hubness | None, list[Finding], list[str]]:
    if len(facts.places) < MIN_POINTS or len(facts.sources) < 2:
        return None, [], [f"hubs are looked for from {MIN_POINTS} chunks of two documents on"]
    document_of = {place.chunk_id: place.document for place in facts.places}
    spread, hubs = hubness(reader, facts.probes, document_of)
    at_of = {place.chunk_id: at for at, place in enumerate(facts.places)}
    findings = [
        facts.finding(
            "hub",
            at_of[hub.chunk_id],
            f"in the top ten of {hub.questions} of {spread.probes} questions from {hub.documents} other "
            f"documents; expected {hub.expected:.2g}",
        )
        for hub in hubs
    ]
    return spread, findings, []
