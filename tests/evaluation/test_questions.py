"""Questions drafted over real HTTP: what is kept, what is refused and why, and the sets that come of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from judge_server import BUSY, NO_JSON, Fault, JudgeServer
from question_corpus import (
    LIBRARY,
    ROAD,
    TEXTS,
    WATER,
    chunks_of,
    corpus,
    corpus_of,
    document,
    drafting,
    passages,
)

from rag_platform.errors import CallerError, InvalidDataset, UnknownName, UpstreamError
from rag_platform.evaluation.budget import Budget
from rag_platform.evaluation.datasets import Case, Label
from rag_platform.evaluation.judge.calls import JudgeModel
from rag_platform.evaluation.judge.providers import JudgeEndpoint
from rag_platform.evaluation.labels import units_of
from rag_platform.evaluation.layouts import load_dataset
from rag_platform.evaluation.memo import Memo
from rag_platform.evaluation.own import load_questions
from rag_platform.evaluation.question_kinds import (
    QUESTION_KINDS,
    check_prompt,
    copied_run,
    copied_share,
    draft_prompt,
    is_repeated,
)
from rag_platform.evaluation.question_plan import KindPlan, plan_questions
from rag_platform.evaluation.question_sets import Origin, Review, from_log, split, write_questions, write_set
from rag_platform.evaluation.questions import Drafted, Generated, generate, quote_label
from rag_platform.types import Span

Body = dict[str, Any]
OPENS = {"question": "भीमसेन पुस्तकालय कति बजे खुल्छ?", "answer": "बिहान सात बजे", "evidence": ["बिहान सात बजे खुल्छ"]}
MEETS = {
    "question": "उपभोक्ता समितिको सभा कहिले हुन्छ?",
    "answer": "२०८१ फागुन १२",
    "evidence": ["२०८१ साल  फागुन\n१२ गते"],
}
BRIDGE = {
    "question": "सिमलटारको पुल कसले प्रयोग गर्ने?",
    "answer": "ठूला सवारीले",
    "evidence": ["ठूला सवारीले अर्को सूचना नआउँदासम्म"],
}


def model(server: JudgeServer, memo: Path | None = None) -> JudgeModel:
    return JudgeModel(
        JudgeEndpoint("openai/m", server.url, "k"), Memo(memo) if memo else None, first_wait_s=0.01
    )


def by_text(*pairs: tuple[str, Body]) -> Callable[[str], Body]:
    """Return what drafts for the first passage that holds these words."""
    return lambda prompt: next(said for words, said in pairs if words in passages(prompt)[1])


ALL = by_text((LIBRARY, OPENS), (WATER, MEETS), (ROAD, BRIDGE))


def own(query: str, text: str) -> bool:
    """Say whether a passage answers: by one word of the question that stands in one text alone."""
    pairs = (("पुस्तकालय", LIBRARY), ("समिति", WATER), ("पुल", ROAD))
    return any(word in query and text == whole for word, whole in pairs)


def test_questions_are_kept_with_the_words_that_answer_them() -> None:
    with drafting(ALL, own) as server:
        made = generate(corpus_of(TEXTS), model(server), kinds=["lookup"], n=3)
    assert made.refused == []
    assert {one.source: one.case.query for one in made.drafted} == {
        "पुस्तकालय.txt": OPENS["question"],
        "सूचना/खानेपानी.txt": MEETS["question"],
        "सूचना/बाटो.txt": BRIDGE["question"],
    }
    case = next(one.case for one in made.drafted if one.source == "सूचना/खानेपानी.txt")
    assert case.labels == (Label("सूचना/खानेपानी.txt", 1, "२०८१ साल फागुन १२ गते"),)
    assert (case.kind, case.language, case.answerable) == ("lookup", "ne", True)
    assert case.reference_answer == "२०८१ फागुन १२"
    (unit,) = units_of(case, {"सूचना/खानेपानी.txt": document("सूचना/खानेपानी.txt", WATER)})
    assert unit.span is not None
    assert WATER[unit.span.start : unit.span.end] == "२०८१ साल फागुन १२ गते"
    assert (made.calls, made.usage.tokens) == (6, 6 * 110)


def refusal(kind: str, said: Body, text: str = LIBRARY, answering: Callable[[str, str], bool] = own) -> str:
    """Return why the draft of one passage is refused."""
    with drafting(lambda _: said, answering) as server:
        made = generate(
            corpus(document("क.txt", text), document("ख.txt", "छोटो।")), model(server), kinds=[kind], n=1
        )
    assert made.drafted == []
    (refused,) = made.refused
    return refused.reason


@pytest.mark.parametrize(
    ("kind", "change", "reason"),
    [
        ("lookup", {"question": ""}, "the model saw no such question"),
        ("lookup", {"question": "यस सूचना अनुसार शुल्क कति हो?"}, "speaks of the passage as if it lay open"),
        ("lookup", {"question": "What is this passage about?"}, "speaks of the passage as if it lay open"),
        ("lookup", {"answer": " "}, "has no answer"),
        ("lookup", {"evidence": ["आइतबार बन्द रहन्छ"]}, "its evidence does not stand in the passage"),
        ("lookup", {"evidence": []}, "its evidence does not stand in the passage"),
        (
            "lookup",
            {"question": f"किन {LIBRARY.split('।')[0]}?"},
            "copies more than 7 words of the passage in a row",
        ),
        ("thematic", {}, "copies the passage's words (80%)"),
        ("romanized", {}, "is not romanized Nepali but ne"),
        ("lookup", {"question": "सिमलटार कहाँ पर्छ?"}, "its own passage does not answer it"),
    ],
)
def test_drafts_that_do_not_hold_are_refused_with_the_reason(kind: str, change: Body, reason: str) -> None:
    assert refusal(kind, OPENS | change) == reason


def test_a_date_must_stand_in_the_evidence() -> None:
    said = MEETS | {"evidence": ["हरेक घरले पालैपालो दुई घण्टा मात्र पानी पाउनेछ"]}
    assert refusal("date", said, WATER) == "its evidence names no date"


def test_a_question_that_another_passage_answers_is_refused() -> None:
    twin = document("नक्कल.txt", LIBRARY)
    with drafting(lambda _: OPENS, own) as server:
        made = generate(corpus(document("पुस्तकालय.txt", LIBRARY), twin), model(server), kinds=["lookup"], n=1)
    assert {one.reason for one in made.refused} == {"another passage answers it as well"}
    assert made.drafted == []


def test_an_unanswerable_question_is_one_that_nothing_found_answers() -> None:
    near = {"question": "भीमसेन पुस्तकालयमा कति जना कर्मचारी छन्?", "answer": "", "evidence": []}
    assert refusal("unanswerable", near) == "a passage answers it"
    with drafting(lambda _: near, lambda query, text: False) as server:
        made = generate(corpus_of(TEXTS), model(server), kinds=["unanswerable"], n=1)
    (one,) = made.drafted
    assert (one.case.answerable, one.case.labels, one.case.reference_answer) == (False, (), "")


def test_a_question_over_two_pages_has_a_label_on_each() -> None:
    said = {
        "question": "पुस्तकालय र समिति कहिले बस्छन्?",
        "answer": "मङ्गलबार बाहेक; फागुन १२",
        "evidence": ["फागुन १२ गते", "मङ्गलबार बन्द"],
    }
    with drafting(lambda _: said, lambda query, text: text in (LIBRARY, WATER)) as server:
        made = generate(
            corpus(document("प.pdf", LIBRARY, WATER, ROAD)), model(server), kinds=["multi-page"], n=1
        )
    good = [one for one in made.drafted if one.case.labels]
    assert [[(label.page, label.quote) for label in one.case.labels] for one in good] == [
        [(1, "मङ्गलबार बन्द"), (2, "फागुन १२ गते")]
    ]


def test_tables_alone_are_asked_for_cells() -> None:
    with drafting(ALL, own) as server:
        none = generate(corpus_of(TEXTS), model(server), kinds=["table"], n=2)
        some = generate(corpus(document("त.txt", LIBRARY), kind="table"), model(server), kinds=["table"], n=2)
    assert (none.drafted, none.calls) == ([], 0)
    assert some.by_kind == {"table": 1}


def test_a_question_is_not_asked_twice() -> None:
    def said(prompt: str) -> Body:
        return {"question": "वडा कार्यालय कहाँ छ?", "answer": "यहाँ", "evidence": [passages(prompt)[1]]}

    def answering(query: str, text: str) -> bool:
        return text == first[0]

    first: list[str] = []
    with drafting(lambda p: (first.append(passages(p)[1]), said(p))[1], answering) as server:
        made = generate(corpus_of(TEXTS), model(server), kinds=["lookup", "date"], n=2)
    assert made.by_kind == {"lookup": 1}
    assert {one.reason for one in made.refused} == {"was asked already"}


def test_broken_replies_are_asked_for_again_and_kept_ones_are_not(tmp_path: Path) -> None:
    with drafting(ALL, own, NO_JSON, Fault(content='{"question": "कति?"}')) as server:
        made = generate(corpus_of(TEXTS), model(server, tmp_path / "memo"), kinds=["lookup"], n=3)
        again = generate(corpus_of(TEXTS), model(server, tmp_path / "memo"), kinds=["lookup"], n=3)
    assert (made.calls, again.calls) == (8, 0)
    assert again.drafted == made.drafted
    assert len(made.drafted) == 3
    assert "there is no JSON object" in server.bodies[1]["messages"][-1]["content"]


def test_a_model_is_shown_the_beginning_of_what_it_wrote_without_end() -> None:
    with drafting(ALL, own, Fault(content="बन्द " * 5_000)) as server:
        made = generate(corpus_of(TEXTS), model(server), kinds=["lookup"], n=1)
    assert server.bodies[1]["messages"][1]["content"] == "बन्द " * 400
    assert len(made.drafted) == 1


def test_a_model_that_gives_nothing_usable_ends_it() -> None:
    with drafting(ALL, own, *[NO_JSON] * 9) as server, pytest.raises(UpstreamError, match="no usable answer"):
        generate(corpus_of(TEXTS), model(server), kinds=["lookup"], n=3)


# Plan and budget


def test_a_plan_counts_passages_calls_and_tokens_and_calls_nobody(tmp_path: Path) -> None:
    with drafting(ALL, own) as server:
        asked = model(server, tmp_path / "memo")
        plan = plan_questions(corpus_of(TEXTS), asked, kinds=["lookup", "romanized", "table"], n=4)
        assert server.n == 0
        generate(corpus_of(TEXTS), asked, kinds=["lookup"], n=2, budget=Budget(calls=3))
        after = plan_questions(corpus_of(TEXTS), asked, kinds=["lookup"], n=2)
        assert server.n == 3
    assert plan.kinds == (
        KindPlan("lookup", 2, 0, 3, 3),
        KindPlan("romanized", 1, 0, 3, 3),
        KindPlan("table", 1, 0, 0, 0),
    )
    assert plan.calls == (2 * 2 + 2 * 1, 2 * 3 + 2 * 3)
    usual = sum(len(text.encode()) for text in (LIBRARY, WATER, ROAD)) / 3
    prompts = [
        draft_prompt(QUESTION_KINDS[kind], chunks) + check_prompt("", chunks)
        for kind in ("lookup", "romanized")
        for chunks in (chunks_of(document(source, text)) for source, text in TEXTS.items())
    ]
    read = sum(len(prompt.encode()) + 5 * usual for prompt in prompts) / 2
    assert plan.tokens[1] == pytest.approx(read + 6 * 320, abs=1)
    assert plan.cost is None, "no list knows the price of this model"
    assert after.kinds == (KindPlan("lookup", 2, 1, 3, 2),), "what is kept costs nothing"
    assert after.calls == (2, 4)


def test_a_plan_prices_what_it_knows() -> None:
    known = JudgeModel(JudgeEndpoint("openai/gpt-4o-mini"))
    plan = plan_questions(corpus_of(TEXTS), known, kinds=["lookup"], n=3)
    assert plan.cost is not None
    written = 3 * 320
    assert plan.cost[1] == pytest.approx((plan.tokens[1] - written) * 0.15e-6 + written * 0.6e-6, rel=0.01)
    own_machine = JudgeModel(JudgeEndpoint("ollama_chat/gemma4"))
    assert plan_questions(corpus_of(TEXTS), own_machine, kinds=["lookup"], n=3).cost == (0.0, 0.0)


@pytest.mark.parametrize("calls", [0, 1, 2, 3, 5])
def test_a_budget_keeps_what_was_made_and_a_larger_one_goes_on(tmp_path: Path, calls: int) -> None:
    with drafting(ALL, own, BUSY, NO_JSON) as server:
        asked = model(server, tmp_path / "memo")
        part = generate(corpus_of(TEXTS), asked, kinds=["lookup"], n=3, budget=Budget(calls=calls))
        assert (part.calls, part.stopped) == (calls, f"the budget of {calls} calls is used up")
        whole = generate(corpus_of(TEXTS), asked, kinds=["lookup"], n=3, budget=Budget(calls=100))
        assert server.n == 1 + 1 + 6, "one busy, one malformed, and none a second time"
    assert (whole.stopped, len(whole.drafted)) == ("", 3)
    assert part.drafted == whole.drafted[: max(0, (calls - 1) // 2)]


def test_a_budget_of_dollars_is_spent_by_what_calls_cost() -> None:
    spent = Budget(cost=0.5)
    spent.take(0.49)
    spent.require()
    spent.take(0.02)
    with drafting(ALL, own) as server:
        made = generate(corpus_of(TEXTS), model(server), kinds=["lookup"], n=3, budget=spent)
        assert server.n == 0
    assert (made.stopped, made.drafted) == ("the budget of 0.5 US dollars is spent", [])


def test_what_cannot_be_asked_for() -> None:
    unused = JudgeModel(JudgeEndpoint("openai/m"))
    with pytest.raises(UnknownName, match=r"'thematik'.*thematic"):
        generate(corpus_of(TEXTS), unused, kinds=["thematik"], n=1)
    with pytest.raises(CallerError, match="0 questions of 1 kinds"):
        generate(corpus_of(TEXTS), unused, kinds=["lookup"], n=0)


def test_copied_words_are_counted_without_endings() -> None:
    assert copied_share("पुस्तकालयको शुल्क कति?", LIBRARY) == pytest.approx(2 / 3)
    assert copied_share("", LIBRARY) == 0.0
    assert copied_run("बाटो पहिरोले पुरिएकाले कति घर?", ROAD) == 3
    assert copied_run("कति घर?", ROAD) == 0


@pytest.mark.parametrize(
    ("question", "same"),
    [
        ("सम्पत्ति कर कति हो?", True),
        ("सम्पत्ती कर कति हो", True),
        ("कति हो सम्पत्ति करको?", True),
        ("बहाल कर कति हो?", False),
    ],
)
def test_near_repetitions(question: str, same: bool) -> None:
    assert is_repeated(question, ["घर कर किन?", "सम्पत्ति कर कति हो?"]) is same


def test_a_quote_grows_until_it_stands_once() -> None:
    text = "शुल्क सय रुपैयाँ छ।\nछात्रलाई शुल्क पचास छ।"
    one = document("क.txt", text)
    at = text.index("शुल्क", 10)
    label, span = quote_label(one, chunks_of(one)[0], Span(at, at + len("शुल्क")))
    assert label == Label("क.txt", 1, "छात्रलाई शुल्क पचास छ।")
    assert text[span.start : span.end] == label.quote


def drafted(**counts: int) -> list[Drafted]:
    """Return so many questions of each document."""
    return [
        Drafted(Case(f"{source}-{n}", f"{source} {n}?", (Label(source, 1, "क"),)), source)
        for source, many in counts.items()
        for n in range(many)
    ]


def test_no_document_is_in_both_splits() -> None:
    parts = split(drafted(क=4, ख=2, ग=1, घ=1), test_share=0.5, seed=3)
    sources = {name: {one.source for one in some} for name, some in parts.items()}
    assert sources["dev"].isdisjoint(sources["test"])
    assert [len(some) for some in parts.values()] == [4, 4]
    assert [len(some) for some in split(drafted(क=2, ख=2), test_share=1.0, seed=0).values()] == [0, 4]
    assert split(drafted(क=2), test_share=0.5, seed=0)["test"] == []
    with pytest.raises(CallerError, match=r"is 1\.5"):
        split([], test_share=1.5, seed=0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the three questions, one document each, two of them in dev."""
    with drafting(ALL, own) as server:
        made = generate(corpus_of(TEXTS), model(server), kinds=["lookup"], n=3)
    files = {}
    for number, (source, text) in enumerate(TEXTS.items()):
        files[source] = tmp_path / f"{number}"
        files[source].write_text(text, encoding="utf-8")
    write_set(tmp_path / "नगर", made, files, Origin("nepali_docs", "openai/m", 0), test_share=0.34)
    return tmp_path / "नगर"


def test_sets_are_read_by_the_platform_and_say_that_nobody_has_seen_them(folder: Path) -> None:
    dev, test = (load_dataset(str(folder / f"नगर-{name}")) for name in ("dev", "test"))
    assert (len(dev.cases), len(test.cases)) == (2, 1)
    assert dev.n_documents == test.n_documents == 3
    for found in (dev, test):
        assert found.card is not None
        assert found.card.annotation == "synthetic, not reviewed"
        documents = {
            member.source: document(member.source, member.path.read_text(encoding="utf-8"))
            for member in found.collections[""]
            if member.path
        }
        assert all(units_of(case, documents) for case in found.cases)
    with pytest.raises(CallerError, match="holds questions already"):
        write_set(folder, Generated(), {}, Origin("c", "m", 0))


def test_what_a_stopped_drafting_left_is_replaced_until_a_person_reviews_it(tmp_path: Path) -> None:
    files = {source: tmp_path / f"{number}" for number, source in enumerate(TEXTS)}
    for source, path in files.items():
        path.write_text(TEXTS[source], encoding="utf-8")
    out, origin = tmp_path / "वडा", Origin("nepali_docs", "openai/m", 0)
    with drafting(ALL, own) as server:
        part = generate(corpus_of(TEXTS), model(server), kinds=["lookup"], n=3, budget=Budget(calls=4))
        whole = generate(corpus_of(TEXTS), model(server), kinds=["lookup"], n=3)
        none = generate(corpus_of(TEXTS), model(server), kinds=["lookup"], n=3, budget=Budget(calls=0))
    with pytest.raises(CallerError, match="the budget of 0 calls is used up; a larger one goes on"):
        write_set(out, none, files, origin)
    counts = []
    for made in (part, part, whole):
        written = write_set(out, made, files, origin)
        counts.append(sum(len(load_dataset(str(folder)).cases) for folder in written.values()))
        assert (out / "stopped.txt").exists() is bool(made.stopped)
    assert counts == [2, 2, 3]
    with pytest.raises(CallerError, match="holds questions already"):
        write_set(out, whole, files, origin)

    other = tmp_path / "टोल"
    write_set(other, part, files, origin)
    review = Review(other)
    review.accept(review.waiting[0])
    with pytest.raises(CallerError, match="holds questions already"):
        write_set(other, whole, files, origin)


def lines(path: Path) -> Sequence[Body]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_verdicts_are_kept_at_once_and_change_the_set(folder: Path) -> None:
    review = Review(folder)
    first, second, third = review.waiting
    review.edit(first, query="  पुस्तकालय कहिले   खुल्छ? ", answer="सात बजे")
    card = load_dataset(str(folder / "नगर-dev")).card
    assert card is not None
    assert card.annotation == "synthetic, not reviewed but for 1 of 2"
    review.reject(second)

    again = Review(folder)
    assert again.waiting == [third]
    again.accept(third)
    assert lines(folder / "review.jsonl") == [
        {"id": first.case_id, "verdict": "edited", "query": "पुस्तकालय कहिले खुल्छ?"},
        {"id": second.case_id, "verdict": "rejected", "query": second.query},
        {"id": third.case_id, "verdict": "accepted", "query": third.query},
    ]
    dev = load_dataset(str(folder / "नगर-dev"))
    assert [(case.query, case.reference_answer) for case in dev.cases] == [("पुस्तकालय कहिले खुल्छ?", "सात बजे")]
    assert dev.card is not None
    assert dev.card.annotation == "synthetic, reviewed by a person"


def test_a_set_may_lose_all_its_questions_and_blank_ones_are_refused(folder: Path) -> None:
    review = Review(folder)
    with pytest.raises(CallerError, match="blank"):
        review.edit(review.waiting[0], query=" ", answer="")
    for case in review.waiting:
        review.reject(case)
    assert Review(folder).waiting == []


def test_what_cannot_be_reviewed(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidDataset, match="rag questions generate"):
        Review(tmp_path)
    (folder / "review.jsonl").write_text('{"id": "x", "verdict": "ठिक", "query": "क?"}\n', encoding="utf-8")
    with pytest.raises(InvalidDataset, match="line 1: the verdict 'ठिक' is none of accepted"):
        Review(folder)


def test_questions_that_people_asked_become_a_file(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    asked = ["सम्पत्ति कर कति हो?", "sampati kar kati ho", "सम्पत्ती  कर कति हो", "Where is the office?"]
    log.write_text(
        "".join(json.dumps({"question": q, "user": "गोप्य"}, ensure_ascii=False) + "\n" for q in asked),
        encoding="utf-8",
    )
    write_questions(tmp_path / "asked.csv", list(from_log(log)))
    assert (tmp_path / "asked.csv").read_text(encoding="utf-8").splitlines() == [
        "id,question,language",
        "asked-1,सम्पत्ति कर कति हो?,ne",
        "asked-2,sampati kar kati ho,romanized",
        "asked-3,Where is the office?,en",
    ]
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "कर.txt").write_text(WATER, encoding="utf-8")
    assert [case.labels for case in load_questions(tmp_path / "asked.csv", documents).cases] == [()] * 3

    log.write_text('{"query": "कर?"}\n', encoding="utf-8")
    with pytest.raises(InvalidDataset, match=r"log.jsonl, line 1: 'question' is None"):
        list(from_log(log))
