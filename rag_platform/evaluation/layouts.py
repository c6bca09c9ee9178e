"""The layouts of labelled sets: BEIR folders, cases in JSON Lines, and folders with a table of questions.

Reading only, and strictly: an unknown key, an id that stands twice, an empty question or a label that names
no document is an error with file and line. Labels inside documents are checked in ``labels``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rag_platform.errors import InvalidDataset
from rag_platform.evaluation.datasets import CARD, UNANSWERABLE, Card, Case, Dataset, Label, Member, find_set
from rag_platform.evaluation.records import Place, Record, comma_rows, json_lines
from rag_platform.evaluation.trec import judgements
from rag_platform.text.normalize import stored_text

__all__ = ["CASES", "load_dataset"]

CASES = "cases.jsonl"
_TABLE = "data.csv"
_DOCUMENTS = "documents"
_CORPUS, _QUERIES = "corpus", "queries"
_CORPUS_KEYS = frozenset({"_id", "title", "text", "metadata"})
_QUERY_KEYS = frozenset(
    {"_id", "text", "metadata", "kind", "language", "answerable", "reference_answer", "answer"}
)
_ANSWER = re.compile(r"answer_[a-z]{2,3}")
"""An answer in a language beside the one of the question: ``answer_ne``, ``answer_en``."""
_CASE_KEYS = frozenset({"id", "query", "relevant", "reference_answer", "kind", "language", "answerable"})
_LABEL_KEYS = frozenset({"source", "document", "pages", "quote", "span", "grade"})
_HIDDEN = (".", "~")


def load_dataset(dataset: str) -> Dataset:
    """Return a set by the path of its folder, or by its name.

    Args:
        dataset: A folder with ``cases.jsonl`` and ``<item>/documents/``, with ``<item>/data.csv`` and
            ``<item>/documents/``, or in the layout of BEIR; or a name of ``bundled_sets``.

    Raises:
        UnknownName: There is no such folder or set.
        InvalidDataset: Something in it is wrong; the message names file and line.
    """
    folder = find_set(dataset)
    if (folder / CASES).is_file():
        found = _with_cases(folder)
    elif any(folder.glob(f"*/{_TABLE}")):
        found = _with_tables(folder)
    elif any(folder.glob(f"{_CORPUS}*.jsonl")):
        found = _beir(folder)
    else:
        raise InvalidDataset(
            f"{folder} is no labelled set: it has neither {CASES}, nor <item>/{_TABLE}, nor {_CORPUS}.jsonl"
        )
    if not found.cases:
        raise InvalidDataset(f"{folder} has no questions")
    card = folder / CARD
    return replace(found, card=Card.read(card)) if card.exists() else found


def _beir(folder: Path) -> Dataset:
    """Read a folder in the layout of BEIR, each passage a document."""
    corpora, queries = _files(folder, _CORPUS), _files(folder, _QUERIES)
    passages = {part: list(_passages(path)) for part, path in corpora.items()}
    if _shares_ids(passages):
        if corpora.keys() != queries.keys():
            raise InvalidDataset(
                f"{folder}: the corpora {', '.join(corpora)} share ids, so each is a collection of its own"
                f" and needs its own queries, {_QUERIES}_<name>.jsonl; found {', '.join(queries) or 'none'}"
            )
    else:
        passages = {"": [passage for some in passages.values() for passage in some]}
    collections = {part: _members(some) for part, some in passages.items()}
    cases: list[Case] = []
    for part, path in queries.items():
        collection = part if part in collections else ""
        asked = {record.text("_id"): _beir_case(record, collection, part) for record in _unique(path)}
        known = {member.source for member in collections[collection]}
        labels = _qrels(folder, asked.keys(), known)
        cases += [_labelled(case, labels.get(own, ())) for own, case in asked.items()]
    _check_unique(cases)
    return Dataset(folder.resolve().name, collections, tuple(cases))


def _unique(path: Path) -> Iterator[Record]:
    """Yield the questions of a BEIR file."""
    seen = set()
    for record in json_lines(path):
        own = record.text("_id")
        if own in seen:
            raise record.place.wrong(f"the id {own!r} stands twice; ids are unique")
        seen.add(own)
        yield record


def _files(folder: Path, stem: str) -> dict[str, Path]:
    """Return ``stem.jsonl`` alone where it is there, else every ``stem_<part>.jsonl`` by its part."""
    whole = folder / f"{stem}.jsonl"
    if whole.is_file():
        return {"": whole}
    found = {path.stem.removeprefix(f"{stem}_"): path for path in sorted(folder.glob(f"{stem}_*.jsonl"))}
    if not found:
        raise InvalidDataset(f"{whole} is missing; a set without it cannot be measured on")
    return found


def _passages(path: Path) -> Iterator[tuple[Place, Member]]:
    for record in json_lines(path):
        record.check_keys(_CORPUS_KEYS, ("_id", "text"))
        title, text = record.text("title", "").strip(), record.text("text", "")
        whole = stored_text(f"{title}\n\n{text}" if title else text)
        yield record.place, Member(record.text("_id"), whole)


def _shares_ids(passages: dict[str, list[tuple[Place, Member]]]) -> bool:
    """Say whether two corpora have a passage of the same id: the same documents in several languages."""
    ids = [{member.source for _, member in some} for some in passages.values()]
    return sum(map(len, ids)) > len(set().union(*ids))


def _members(passages: Iterable[tuple[Place, Member]]) -> tuple[Member, ...]:
    found: dict[str, Member] = {}
    for place, member in passages:
        if member.source in found:
            raise place.wrong(f"the id {member.source!r} stands twice; ids are unique")
        found[member.source] = member
    return tuple(found.values())


def _qrels(folder: Path, queries: Collection[str], known: Collection[str]) -> dict[str, list[Label]]:
    """Return the labels of the questions of a BEIR folder."""
    path = next((p for p in (folder / "qrels.tsv", folder / "qrels" / "test.tsv") if p.is_file()), None)
    if path is None:
        raise InvalidDataset(f"{folder} has no judgements: neither qrels.tsv nor qrels/test.tsv")
    found: dict[str, list[Label]] = {}
    seen = set()
    for place, query, document, grade in judgements(path):
        query, document = (unicodedata.normalize("NFC", one) for one in (query, document))
        if query not in queries:
            raise place.wrong(f"there is no question {query!r}")
        if document not in known:
            raise place.wrong(f"the label of question {query!r} names {document!r}, which is no document")
        if (query, document) in seen:
            raise place.wrong(f"{document!r} is judged twice for question {query!r}")
        seen.add((query, document))
        found.setdefault(query, []).append(Label(document, grade=grade))
    return found


def _beir_case(record: Record, collection: str, part: str) -> Case:
    answers = [key for key in record.values if _ANSWER.fullmatch(key)]
    record.check_keys(_QUERY_KEYS | set(answers), ("_id", "text"))
    own, language = record.text("_id"), record.text("language", part if len(part) == 2 else "")
    preferred = ("reference_answer", "answer", f"answer_{language or 'ne'}", *answers)
    return Case(
        case_id=f"{part}/{own}" if part else own,
        query=record.text("text"),
        collection=collection,
        kind=record.text("kind", ""),
        language=language,
        answerable=_answerable(record),
        reference_answer=next((a for key in preferred if (a := record.text(key, "").strip())), ""),
        where=str(record.place),
    )


def _with_cases(folder: Path) -> Dataset:
    """Read ``cases.jsonl`` and the documents below ``<item>/documents/``."""
    members = tuple(_documents(folder))
    known = {member.source for member in members}
    cases = []
    for record in json_lines(folder / CASES):
        record.check_keys(_CASE_KEYS, ("id", "query", "relevant"))
        case = Case(
            case_id=record.text("id"),
            query=record.text("query"),
            kind=record.text("kind", ""),
            language=record.text("language", ""),
            answerable=_answerable(record),
            reference_answer=record.text("reference_answer", "").strip(),
            where=str(record.place),
        )
        cases.append(_labelled(case, tuple(_labels(record, known))))
        if case.answerable and not cases[-1].labels:
            raise record.place.wrong(f'{case.case_id!r} has nothing relevant; or is it "answerable": false?')
    _check_unique(cases)
    return Dataset(folder.resolve().name, {"": members}, tuple(cases))


def _labels(record: Record, known: set[str]) -> Iterator[Label]:
    """Yield the labels of a case, one a page."""
    listed = record.values["relevant"]
    if not isinstance(listed, list) or not all(isinstance(value, dict) for value in listed):
        raise record.place.wrong(f"'relevant' is {listed!r}, expected a list of objects")
    for value in listed:
        label = Record(value, record.place)
        name = "document" if "document" in value else "source"
        label.check_keys(_LABEL_KEYS - ({"source"} if name == "document" else {"document"}), (name,))
        source = label.text(name)
        if source not in known:
            raise record.place.wrong(f"the label {source!r} names no document of the set")
        pages, grade = value.get("pages"), value.get("grade", 1)
        if pages is not None and not (isinstance(pages, list) and pages and all(map(_is_count, pages))):
            raise record.place.wrong(f"'pages' is {pages!r}, expected a list of numbers from 1")
        if not _is_count(grade):
            raise record.place.wrong(f"'grade' is {grade!r}, expected a whole number from 1")
        quote, span = label.text("quote", ""), _span(label)
        if span and (quote or pages):
            raise record.place.wrong("a label has either a span or pages and a quote, not both")
        if quote and len(pages or ()) > 1:
            raise record.place.wrong("a quote stands on one page; write one label a quote")
        for page in pages or (None,):
            yield Label(source, page, quote, span, grade)


def _span(label: Record) -> tuple[int, int] | None:
    span = label.values.get("span")
    if span is None:
        return None
    is_span = isinstance(span, list) and len(span) == 2 and all(type(end) is int for end in span)
    if not is_span or not 0 <= span[0] < span[1]:
        raise label.place.wrong(f"'span' is {span!r}, expected [start, end] in code points, end after start")
    return span[0], span[1]


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 1


def _with_tables(folder: Path) -> Dataset:
    """Read ``<item>/data.csv``; what answers a question is any document of its item."""
    members, cases = tuple(_documents(folder)), []
    for path in sorted(folder.glob(f"*/{_TABLE}")):
        item = unicodedata.normalize("NFC", path.parent.name)
        below = f"{item}/{_DOCUMENTS}/"
        if not any(member.source.startswith(below) for member in members):
            raise InvalidDataset(f"{path.parent / _DOCUMENTS} holds no document to answer {path}")
        rows = comma_rows(path)
        place, header = next(rows, (Place(path, 1), []))
        if header != ["question", "actual_answer"]:
            raise place.wrong(f"the columns are {header}, expected question,actual_answer")
        for number, (place, row) in enumerate(rows, start=1):
            if len(row) != len(header):
                raise place.wrong(f"{len(row)} columns, expected {len(header)}")
            record = Record(dict(zip(header, row, strict=True)), place)
            answer = record.text("actual_answer", "").strip()
            labels = (Label(below),)
            case = Case(f"{item}-{number}", record.text("question"), labels, reference_answer=answer)
            cases.append(replace(case, where=str(place)))
    return Dataset(folder.resolve().name, {"": members}, tuple(cases))


def _documents(folder: Path) -> Iterator[Member]:
    """Yield the files below ``<item>/documents/``, hidden and temporary ones left out."""
    seen = set()
    for path in sorted(folder.glob(f"*/{_DOCUMENTS}/**/*")):
        if not path.is_file() or path.name.startswith(_HIDDEN):
            continue
        source = unicodedata.normalize("NFC", path.relative_to(folder).as_posix())
        if source in seen:
            raise InvalidDataset(f"two files are named {path}, written differently; rename one")
        seen.add(source)
        yield Member(source, path=path)


def _answerable(record: Record) -> bool:
    told = record.truth("answerable")
    return told if told is not None else record.values.get("kind") != UNANSWERABLE


def _labelled(case: Case, labels: Sequence[Label]) -> Case:
    """Return the case with its labels, which must agree with its being answerable."""
    if not case.answerable and any(label.grade > 0 for label in labels):
        raise InvalidDataset(
            f"{case.where}: {case.case_id!r} is unanswerable, but a label says what answers it"
        )
    return replace(case, labels=tuple(labels))


def _check_unique(cases: Sequence[Case]) -> None:
    seen = set()
    for case in cases:
        if case.case_id in seen:
            raise InvalidDataset(f"{case.where}: the id {case.case_id!r} stands twice; ids are unique")
        seen.add(case.case_id)
