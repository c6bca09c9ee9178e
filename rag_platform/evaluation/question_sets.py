"""Sets of drafted questions on disk: written as labelled sets, split by document, reviewed one by one.

A folder holds ``<name>-dev`` and ``<name>-test``, each a set with the same documents, and beside them what
was refused and what a person said of each question. How questions come about stands in ``questions``.
"""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from rag_platform.errors import CallerError, InvalidDataset
from rag_platform.evaluation.datasets import CARD, Case
from rag_platform.evaluation.layouts import CASES, load_dataset
from rag_platform.evaluation.questions import Drafted, Generated
from rag_platform.evaluation.records import json_lines
from rag_platform.storage import atomic, copy_file
from rag_platform.text.analyze import analyze
from rag_platform.text.language import detect_language
from rag_platform.text.normalize import stored_text

__all__ = [
    "DOCUMENTS",
    "UNREVIEWED",
    "Origin",
    "Review",
    "Verdict",
    "check_free",
    "from_log",
    "split",
    "write_questions",
    "write_set",
]

DOCUMENTS = "corpus/documents/"
"""Where a set keeps its documents; before every source in its labels."""
UNREVIEWED = "synthetic, not reviewed"
_REVIEWED = "synthetic, reviewed by a person"
_SPLITS = ("dev", "test")
_REVIEW, _REFUSED, _STOPPED = "review.jsonl", "refused.jsonl", "stopped.txt"
Verdict = Literal["accepted", "edited", "rejected"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where questions are from, for the card.

    Attributes:
        collection: Whose documents are asked about.
        model: Who drafted.
        seed: Of the choice of passages and of the split.
    """

    collection: str
    model: str
    seed: int


def split(drafted: Sequence[Drafted], *, test_share: float, seed: int) -> dict[str, list[Drafted]]:
    """Return the questions of ``dev`` and ``test``; those of one document are never in both.

    Args:
        drafted: All of them.
        test_share: Of the questions, as near as whole documents allow.
        seed: Of the order in which documents of equally many questions are dealt.

    Raises:
        CallerError: The share is not between 0 and 1.
    """
    if not 0 <= test_share <= 1:
        raise CallerError(f"the share of test questions is {test_share}, allowed is 0 to 1")
    counts = sorted(Counter(one.source for one in drafted).items())
    random.Random(seed).shuffle(counts)
    is_test: dict[str, bool] = {}
    n_test, wanted = 0, test_share * len(drafted)
    for source, n in sorted(counts, key=lambda one: -one[1]):
        is_test[source] = abs(n_test + n - wanted) < abs(n_test - wanted)
        n_test += n * is_test[source]
    return {name: [one for one in drafted if is_test[one.source] == (name == "test")] for name in _SPLITS}


def check_free(folder: Path) -> None:
    """Refuse a folder that holds drafted questions already: a person may have reviewed them.

    Those of a drafting that a budget stopped are free, as long as nobody has begun to review them.

    Raises:
        CallerError: It does.
    """
    is_stopped = (folder / _STOPPED).exists() and not (folder / _REVIEW).exists()
    if any(folder.glob(f"*/{CASES}")) and not is_stopped:
        raise CallerError(f"{folder} holds questions already; name another folder, or remove it")


def write_set(
    folder: Path,
    made: Generated,
    documents: Mapping[str, Path],
    origin: Origin,
    *,
    test_share: float = 0.5,
) -> dict[str, Path]:
    """Write the splits as sets, each with all documents, and return their folders; an empty one is left out.

    Args:
        folder: Made where it is not there; only what a stopped drafting left in it is replaced.
        made: What was drafted and refused.
        documents: The files by source.
        origin: For the card.
        test_share: Of the questions, those for the last measurement.

    Raises:
        CallerError: The folder holds questions already, or none were drafted.
    """
    check_free(folder)
    _write_lines(folder / _REFUSED, [asdict(one) for one in made.refused])
    if not made.drafted:
        why = f"{made.stopped}; a larger one goes on" if made.stopped else f"{folder / _REFUSED} says why"
        raise CallerError(f"no question could be kept; {why}")
    written = {}
    for left in (_split_folder(folder, name) for name in _SPLITS):
        if left.exists():  # of a drafting that was stopped
            shutil.rmtree(left)
    if made.stopped:
        (folder / _STOPPED).write_text(f"{made.stopped}\n", encoding="utf-8")
    for name, some in split(made.drafted, test_share=test_share, seed=origin.seed).items():
        if some:
            target = written[name] = _split_folder(folder, name)
            for source, path in documents.items():
                copy_file(path, target / DOCUMENTS / source)
            _write_card(target, [one.case for one in some], origin, name)
            _write_cases(target, [_in_set(one.case) for one in some])
    if not made.stopped:
        (folder / _STOPPED).unlink(missing_ok=True)
    return written


def _split_folder(folder: Path, name: str) -> Path:
    return folder / f"{folder.resolve().name}-{name}"


def _in_set(case: Case) -> Case:
    """Return a case whose labels name the documents as the set does."""
    return replace(case, labels=tuple(replace(one, source=DOCUMENTS + one.source) for one in case.labels))


def _write_card(folder: Path, cases: Sequence[Case], origin: Origin, name: str) -> None:
    values = {
        "title": f"Questions to the documents of {origin.collection}, drafted by a model: {name}",
        "languages": sorted({case.language for case in cases if case.language}) or ["unknown"],
        "licence": "that of the documents",
        "origin": f"Drafted by {origin.model} from the collection {origin.collection}, seed {origin.seed}",
        "revision": "1",
        "annotation": UNREVIEWED,
        "main_measure": "nDCG@10",
    }
    _write_toml(folder / CARD, values)


def _write_toml(path: Path, values: Mapping[str, object]) -> None:
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items()]
    with atomic(path) as file:
        file.write("".join(lines).encode())


def _write_cases(folder: Path, cases: Sequence[Case]) -> None:
    _write_lines(folder / CASES, [_record(case) for case in cases])


def _record(case: Case) -> dict[str, object]:
    labels = [
        {"source": one.source} | ({"pages": [one.page]} if one.page else {}) | {"quote": one.quote}
        for one in case.labels
    ]
    return {
        "id": case.case_id,
        "query": case.query,
        "relevant": labels,
        "reference_answer": case.reference_answer,
        "kind": case.kind,
        "language": case.language,
        "answerable": case.answerable,
    }


def _write_lines(path: Path, values: Sequence[Mapping[str, object]]) -> None:
    with atomic(path) as file:
        file.write("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values).encode())


class Review:
    """A person's verdicts on a folder of drafted questions; each is kept at once.

    Args:
        folder: As ``write_set`` was given.

    Raises:
        InvalidDataset: It holds no drafted questions, or they cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / _REVIEW
        sets = [one for name in _SPLITS for one in sorted(folder.glob(f"*-{name}"))]
        self._cases = {one: _cases(one) for one in sets if (one / CASES).is_file()}
        if not self._cases:
            raise InvalidDataset(f"{folder} holds no drafted questions; make some: rag questions generate")
        self.verdicts = self._kept()

    def _kept(self) -> dict[str, Verdict]:
        kept: dict[str, Verdict] = {}
        for record in json_lines(self._path) if self._path.exists() else ():
            record.check_keys(("id", "verdict", "query"), ("id", "verdict", "query"))
            verdict = record.text("verdict")
            for known in get_args(Verdict):
                if verdict == known:
                    kept[record.text("id")] = known
            if record.text("id") not in kept:
                raise record.place.wrong(f"the verdict {verdict!r} is none of {', '.join(get_args(Verdict))}")
        return kept

    @property
    def waiting(self) -> list[Case]:
        """The questions without a verdict."""
        return [one for some in self._cases.values() for one in some if one.case_id not in self.verdicts]

    def accept(self, case: Case) -> None:
        """Keep a question as it is."""
        self._decide(case, "accepted", case)

    def edit(self, case: Case, *, query: str, answer: str) -> None:
        """Keep a question in other words.

        Raises:
            CallerError: The question is blank.
        """
        text = " ".join(stored_text(query).split())
        if not text:
            raise CallerError("the question is blank; write one, or reject it")
        edited = replace(case, query=text, language=detect_language(text))
        if case.answerable:
            edited = replace(edited, reference_answer=stored_text(answer).strip())
        self._decide(case, "edited", edited)

    def reject(self, case: Case) -> None:
        """Take a question out of the set; its words stay in ``review.jsonl``."""
        self._decide(case, "rejected", None)

    def _decide(self, case: Case, verdict: Verdict, kept: Case | None) -> None:
        """Change the set first: a verdict that is kept has been carried out."""
        folder = next(one for one, some in self._cases.items() if case in some)
        cases = self._cases[folder]
        if kept is None:
            cases = [other for other in cases if other is not case]
        else:
            cases = [kept if other is case else other for other in cases]
        _write_cases(folder, cases)
        self._cases[folder] = cases
        self.verdicts[case.case_id] = verdict
        line = {"id": case.case_id, "verdict": verdict, "query": kept.query if kept else case.query}
        earlier = self._path.read_bytes() if self._path.exists() else b""
        with atomic(self._path) as file:
            file.write(earlier + json.dumps(line, ensure_ascii=False).encode() + b"\n")
        self._mark(folder)

    def _mark(self, folder: Path) -> None:
        """Say in the card how far the review has come."""
        cases = self._cases[folder]
        n = sum(case.case_id in self.verdicts for case in cases)
        is_done = n == len(cases)
        values = tomllib.loads((folder / CARD).read_text(encoding="utf-8"))
        said = _REVIEWED if is_done else f"{UNREVIEWED} but for {n} of {len(cases)}"
        _write_toml(folder / CARD, values | {"annotation": said})


def _cases(folder: Path) -> list[Case]:
    """Return the questions of a set; where all were rejected there are none, which is no error here."""
    return list(load_dataset(str(folder)).cases) if (folder / CASES).stat().st_size else []


def from_log(*paths: Path) -> Iterator[tuple[str, str]]:
    """Yield language and words of the questions of a log, each once, spelling and order of words apart.

    Args:
        *paths: One JSON object a line with ``question``, and with ``standalone`` where that was a follow-up,
            which says little by itself; what else it has is not read.

    Raises:
        InvalidDataset: A line has no question.
    """
    seen = set()
    for record in (one for path in paths for one in json_lines(path)):
        asked = record.text("question")
        question = " ".join(stored_text(record.text("standalone", "").strip() or asked).split())
        key = frozenset(analyze(question)) or question
        if key not in seen:
            seen.add(key)
            yield detect_language(question), question


def write_questions(path: Path, questions: Sequence[tuple[str, str]]) -> None:
    """Write questions without labels as the CSV file that ``rag sweep`` takes with a folder of documents."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(("id", "question", "language"))
    writer.writerows((f"asked-{n}", text, language) for n, (language, text) in enumerate(questions, start=1))
    with atomic(path) as file:
        file.write(table.getvalue().encode())
