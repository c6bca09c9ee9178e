"""Dirt put into a published collection of the embedded engine is found, and clean text is left alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from points import chunks_of, vector_of

from rag_platform.audit.collection import CollectionAudit, Finding, audit_collection
from rag_platform.audit.hubs import Probe, hubness, skewness
from rag_platform.index.edge import EdgeIndex
from rag_platform.protocols import CollectionReader, FloatArray, PointBatch
from rag_platform.types import Chunk, document_id

COLLECTION, MODEL, DIM = "kanun", "hashing", 64

Documents = Mapping[str, Sequence[tuple[str, str]]]
"""Source -> path and text of each chunk."""
Publish = Callable[..., CollectionReader]

VERBS = ["दर्ता", "खारेज", "संशोधन", "नवीकरण", "सिफारिस", "प्रमाणित", "अनुगमन", "निर्णय", "भुक्तानी", "वितरण"]
OFFICES = ["वडा", "नगरपालिका", "अदालत", "मन्त्रालय", "आयोग", "विद्यालय", "अस्पताल", "बैंक", "सहकारी", "विभाग"]
PLACES = ["सुनकोशी", "मेलम्ची", "त्रिशूली", "गण्डकी", "भेरी", "कर्णाली", "कोशी", "बागमती", "राप्ती", "महाकाली"]


def clean(n: int) -> str:
    """Return one of a thousand sentences that have no three words in a row in common."""
    verb, office, place = VERBS[n % 10], OFFICES[n // 10 % 10], PLACES[n // 100 % 10]
    return f"{place}{n} {office}{n} बाट {verb}{n} गर्दा लाग्ने{n} समय{n} तथा दस्तुर{n} तोकिएबमोजिम{n} हुनेछ{n}।"


def random_vector(chunk: Chunk) -> FloatArray:
    return vector_of(chunk.chunk_id, DIM)


@pytest.fixture
def publish(tmp_path: Path) -> Publish:
    """Return a function that publishes documents with chosen vectors and opens them."""

    def made(documents: Documents, vector: Callable[[Chunk], FloatArray] = random_vector) -> CollectionReader:
        chunks: dict[str, list[Chunk]] = {}
        for source, parts in documents.items():
            cut = chunks_of(source, [text for _, text in parts], COLLECTION)
            pairs = zip(cut, parts, strict=True)
            chunks[document_id(COLLECTION, source)] = [replace(one, path=path) for one, (path, _) in pairs]

        def load(document_ids: Sequence[str]) -> Iterator[PointBatch]:
            for key in document_ids:
                yield PointBatch(chunks[key], np.stack([vector(chunk) for chunk in chunks[key]]))

        index = EdgeIndex(tmp_path / "collections")
        prints = dict.fromkeys(chunks, "1")
        index.publish(COLLECTION, MODEL, dim=DIM, recipe="r", documents=prints, load=load)
        return index.open(COLLECTION, MODEL)

    return made


def of_kind(found: CollectionAudit, kind: str) -> list[Finding]:
    return [finding for finding in found.findings if finding.kind == kind]


def plain(n_documents: int, n_chunks: int) -> dict[str, list[tuple[str, str]]]:
    return {
        f"{d}.txt": [("", clean(d * n_chunks + at)) for at in range(n_chunks)] for d in range(n_documents)
    }


def test_a_clean_collection_has_no_dirt(publish: Publish) -> None:
    found = audit_collection(publish(plain(5, 8)))
    assert (found.collection, found.points, found.documents, found.sampled) == (COLLECTION, 40, 5, 40)
    assert set(found.counts.values()) == {0}
    assert found.findings == ()
    assert found.hubness is None
    assert found.notes == ("hubs are looked for from 100 chunks of two documents on",)


def test_each_kind_of_dirt_is_found_where_it_is(publish: Publish) -> None:
    documents = plain(5, 8)
    documents["विदेशी.pdf"] = [("", clean(500)), ("", clean(501) + " रावɈष्टिय योजना आयोग")]
    documents["preeti.pdf"] = [("", "gful/stf P]g, @)^# sf] bkmf % adf]lhd of] k|df0fkq lbOPsf] 5 .")]
    documents["छोटो.txt"] = [("", "हो"), ("", " ".join(clean(n) for n in range(600, 610)))]
    documents["प्रति.txt"] = [("", clean(3)), ("", clean(4).replace("हुनेछ", "हुने छ"))]
    found = audit_collection(publish(documents))
    (foreign,) = of_kind(found, "foreign")
    assert (foreign.source, foreign.page) == ("विदेशी.pdf", 2)
    assert foreign.message == "1 words with foreign letters: रावɈष्टिय"
    assert [finding.source for finding in of_kind(found, "legacy")] == ["preeti.pdf"]
    (short,) = of_kind(found, "short")
    assert (short.source, short.text) == ("छोटो.txt", "हो")
    assert [finding.source for finding in of_kind(found, "long")] == ["छोटो.txt"]
    copies = of_kind(found, "duplicate")
    assert len(copies) == 2
    assert all(finding.message.startswith("the same text in 2 chunks of 2 documents") for finding in copies)


def test_nearly_the_same_text_is_told_apart_from_the_same(publish: Publish) -> None:
    long = " ".join(clean(n) for n in range(5))
    changed = long.replace("दर्ता0", "खारेज0")
    found = audit_collection(
        publish({"क.txt": [("", long)], "ख.txt": [("", changed)], "ग.txt": [("", clean(9))]})
    )
    assert found.counts["duplicate"] == 0
    (near,) = of_kind(found, "near_duplicate")
    assert near.message.startswith("nearly the same text in 2 chunks of 2 documents")
    assert "क.txt" in near.message
    assert "ख.txt" in near.message


def test_lines_that_many_chunks_repeat_are_boilerplate(publish: Publish) -> None:
    documents = plain(5, 8)
    for source in ("0.txt", "1.txt", "2.txt"):
        documents[source] = [
            (path, f"www.lawcommission.example.np को पृष्ठ {at}\n{text}")
            for at, (path, text) in enumerate(documents[source])
        ]
    found = audit_collection(publish(documents))
    (finding,) = of_kind(found, "boilerplate")
    assert finding.message == "in 24 chunks of 3 documents"
    assert finding.text.startswith("www.lawcommission.example.np को पृष्ठ")


def test_what_chunks_share_by_overlap_is_no_boilerplate(publish: Publish) -> None:
    shared = "नगरपालिकाको कार्यालयमा निवेदन दिनुपर्नेछ"
    cut = [("", f"{shared}\n{clean(n)}") for n in range(6)]
    reader = publish({"क.txt": cut})
    assert audit_collection(reader).counts["boilerplate"] == 1

    class Overlapping:
        """The same points, whose first line is shared with the chunk before."""

        manifest = reader.manifest
        count, fetch, dense, lexical = reader.count, reader.fetch, reader.dense, reader.lexical

        def points(self) -> Iterator[object]:
            for point in reader.points():
                yield replace(point, chunk=replace(point.chunk, overlap=len(shared)))

    assert audit_collection(Overlapping()).counts["boilerplate"] == 0  # type: ignore[arg-type]


def test_gaps_in_the_numbers_of_an_act(publish: Publish) -> None:
    numbers = ("१", "२", "५", "६")
    act = [(f"परिच्छेद १ > दफा {number}: विषय", clean(at)) for at, number in enumerate(numbers)]
    found = audit_collection(publish({"ऐन.pdf": act, "सूचना.txt": [("", clean(20))]}))
    (gap,) = of_kind(found, "gap")
    assert (gap.source, gap.message) == ("ऐन.pdf", "दफा 3, 4 missing between 2 and 5")


def hub_vector(chunk: Chunk) -> FloatArray:
    """Return the middle of all vectors for the hub, elsewhere that middle with a part of its own."""
    values = np.zeros(DIM, np.float32)
    values[0] = 1.0
    if chunk.source != "hub.txt":
        values += 0.9 * random_vector(chunk)
    return (values / np.linalg.norm(values)).astype(np.float32)


def test_a_chunk_near_everything_is_a_hub(publish: Publish) -> None:
    documents = plain(20, 10)
    documents["hub.txt"] = [("", clean(900))]
    found = audit_collection(publish(documents, hub_vector))
    assert found.hubness is not None
    assert (found.hubness.probes, found.hubness.expected) == (201, 10.0)
    hubs = of_kind(found, "hub")
    assert hubs[0].source == "hub.txt"
    assert found.hubness.worst > 100
    assert hubs[0].message == (
        f"in the top ten of {found.hubness.worst} of 201 questions from 20 other documents; expected 10"
    )
    assert found.hubness.skewness > 2


def test_only_chunks_of_other_documents_answer(publish: Publish) -> None:
    reader = publish(
        {"क.txt": [("", clean(n)) for n in range(12)], "ख.txt": [("", clean(n)) for n in (50, 51)]}
    )
    points = list(reader.points())
    number = {"क.txt": 0, "ख.txt": 1}
    document_of = {point.chunk.chunk_id: number[point.chunk.source] for point in points}
    asked = [Probe(0, point.vector) for point in points if point.chunk.source == "क.txt"]
    spread, hubs = hubness(reader, asked, document_of)
    assert hubs == []  # they are all that can answer: nothing else is to be expected
    assert spread.worst == 12  # both chunks of ख are in the top ten of every question of क
    assert spread.expected == round(12 * 10 / 14, 4)
    counts = np.array([12.0, 12.0] + [0.0] * 12)
    mean = 24 / 14
    m2 = (2 * (12 - mean) ** 2 + 12 * mean**2) / 14
    m3 = (2 * (12 - mean) ** 3 - 12 * mean**3) / 14
    assert spread.skewness == round(m3 / m2**1.5, 4) == round(skewness(counts), 4)


def test_a_sample_bounds_what_is_compared_and_says_so(publish: Publish) -> None:
    documents = plain(5, 30)
    documents["ऐन.pdf"] = [(f"दफा {n}: विषय", clean(700 + n)) for n in (1, 2, 4)]
    found = audit_collection(publish(documents), sample=100, n_probes=20)
    assert (found.points, found.sampled) == (153, 100)
    assert found.notes == ("texts were compared over a sample of 100 of 153 chunks; raise it with --sample",)
    assert found.hubness is not None
    assert found.hubness.probes == 20
    assert found.counts["gap"] == 1  # numbers are of whole documents


def test_the_same_collection_gives_the_same_report(publish: Publish) -> None:
    reader = publish(plain(10, 15))
    assert audit_collection(reader, n_probes=50) == audit_collection(reader, n_probes=50)
