"""Documents of our own to ask about, and a server that drafts questions from them as a test tells it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from judge_server import Fault, JudgeServer, judging

from rag_platform.evaluation.questions import Corpus
from rag_platform.types import Chunk, Document, Hit, Kind, Page, document_id

__all__ = [
    "LIBRARY",
    "ROAD",
    "TEXTS",
    "WATER",
    "chunks_of",
    "corpus",
    "corpus_of",
    "document",
    "drafting",
    "passages",
]

Body = dict[str, Any]

LIBRARY = (
    "भीमसेन सामुदायिक पुस्तकालय बिहान सात बजे खुल्छ र प्रत्येक मङ्गलबार बन्द रहन्छ। सदस्य बन्न वार्षिक दुई सय रुपैयाँ शुल्क लाग्छ।"
)
WATER = (
    "खानेपानी उपभोक्ता समितिको साधारण सभा २०८१ साल फागुन १२ गते बस्नेछ। "
    "मुहान सुक्दै गएकाले हरेक घरले पालैपालो दुई घण्टा मात्र पानी पाउनेछ।"
)
ROAD = (
    "बेलडाँडा जाने बाटो पहिरोले पुरिएकाले साना सवारी मात्र चल्नेछन्। "
    "ठूला सवारीले अर्को सूचना नआउँदासम्म सिमलटारको पुल हुँदै जानुपर्छ।"
)
TEXTS = {"पुस्तकालय.txt": LIBRARY, "सूचना/खानेपानी.txt": WATER, "सूचना/बाटो.txt": ROAD}


def passages(prompt: str) -> dict[int, str]:
    """Return the passages of a prompt by number."""
    found = re.findall(r"\[passage (\d+)\][^\n]*\n(.*?)\n\[end of passage", prompt, re.DOTALL)
    return {int(number): text for number, text in found}


@contextmanager
def drafting(
    draft: Callable[[str], Body], answering: Callable[[str, str], bool], *faults: Fault
) -> Iterator[JudgeServer]:
    """Serve until the block ends.

    Args:
        draft: From the prompt of a draft to question, answer and evidence.
        answering: Whether a passage answers a question.
        faults: Replies before the good ones.
    """

    def answer(body: Body, _: str) -> Body:
        prompt = body["messages"][-1 if "Which of these" in body["messages"][-1]["content"] else 0]["content"]
        asked = re.search(r"^Question: (.*)$", prompt, re.MULTILINE)
        if asked is None:
            return draft(prompt)
        return {"passages": [n for n, text in passages(prompt).items() if answering(asked[1], text)]}

    with judging(answer) as server:
        server.faults.extend(faults)
        yield server


def document(source: str, *pages: str) -> Document:
    """Return a document of these pages."""
    return Document(
        source, "0" * 64, "txt", tuple(Page(n, text, "markup") for n, text in enumerate(pages, 1))
    )


def chunks_of(one: Document, kind: Kind = "text") -> list[Chunk]:
    """Return a chunk a page."""
    key = document_id(one.collection, one.source)
    return [
        Chunk(
            f"{one.source}#{at}", key, one.collection, one.source, one.content_sha256, at, page.text,
            span.start, span.end, at + 1, at + 1, 40, 0, kind, "ne",
        )
        for at, (page, span) in enumerate(zip(one.pages, one.page_spans, strict=True))
    ]  # fmt: skip


def corpus(*documents: Document, kind: Kind = "text") -> Corpus:
    """Return a corpus whose search finds everything."""
    made = {one.source: (one, chunks_of(one, kind)) for one in documents}
    hits = [Hit(1, 1.0, chunk) for _, chunks in made.values() for chunk in chunks]
    return Corpus(list(made), made.__getitem__, lambda query: hits)


def corpus_of(texts: Mapping[str, str]) -> Corpus:
    """Return a corpus of documents of one page."""
    return corpus(*(document(source, text) for source, text in texts.items()))
