"""What a generator reads under a variant that does not search: nothing, whole documents, or a collection.

The baselines that retrieval is compared with; passages here are pages, in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from rag_platform.evaluation.collection import Collections
from rag_platform.evaluation.datasets import Case
from rag_platform.protocols import Tokenizer
from rag_platform.text.segment import sentences
from rag_platform.types import Chunk, Document, Hit, chunk_id

__all__ = ["CONTEXTS", "CONTEXT_TOKENS", "Context", "ContextKind", "Contexts"]

ContextKind = Literal["none", "document", "collection"]
CONTEXTS: tuple[ContextKind, ...] = get_args(ContextKind)
CONTEXT_TOKENS = 8_000
"""Unless a variant says otherwise: what a model of 32,000 tokens reads of Devanagari with room to spare."""


@dataclass(frozen=True, slots=True)
class Context:
    """What is read instead of hits.

    Attributes:
        kind: ``none``: nothing, the model answers alone; ``document``: the documents that the question's
            labels name, whole; ``collection``: all documents in the order of their names. A question
            without labels is read the collection.
        tokens: Of the chunks' tokenizer; what is beyond is not read.
    """

    kind: ContextKind
    tokens: int = CONTEXT_TOKENS

    @property
    def recipe(self) -> str:
        """Kind and limit as one string."""
        return self.kind if self.kind == "none" else f"{self.kind}, {self.tokens} tokens"


@dataclass(slots=True)
class Contexts:
    """What each question of a set is answered from.

    Attributes:
        context: What is read.
        documents: As they were read, by part of the set.
        tokenizer: What counts.
    """

    context: Context
    documents: Collections
    tokenizer: Tokenizer
    _made: dict[tuple[str, ...], tuple[Hit, ...]] = field(default_factory=dict)

    def of(self, case: Case) -> tuple[Hit, ...]:
        """Return the pages that a question is answered from, up to the limit; the last one may be cut."""
        if self.context.kind == "none":
            return ()
        known = self.documents[case.collection]
        named = dict.fromkeys(label.source for label in case.labels if label.grade > 0)
        sources: Sequence[str] = sorted(known)
        if self.context.kind == "document" and named:
            sources = [one for one in sources if any(_is_meant(one, source) for source in named)]
        key = (case.collection, *sources)
        if key not in self._made:
            chunks = self._pages([known[source] for source in sources])
            self._made[key] = tuple(Hit(rank, 0.0, chunk) for rank, chunk in enumerate(chunks, start=1))
        return self._made[key]

    def _pages(self, documents: Sequence[Document]) -> Iterator[Chunk]:
        left = self.context.tokens
        for document in documents:
            for page, span in zip(document.pages, document.page_spans, strict=True):
                n_tokens = self.tokenizer.count(page.text)
                text = page.text if n_tokens <= left else self._fitting(page.text, left)
                if text.strip():
                    yield _chunk(document, page.page_no, span.start, text, min(n_tokens, left))
                left -= n_tokens
                if left <= 0:
                    return

    def _fitting(self, text: str, limit: int) -> str:
        """Return the sentences from the beginning of a text that are within a number of tokens."""
        end, used = 0, 0
        for span in sentences(text):
            used += self.tokenizer.count(text[end : span.end])
            if used > limit:
                break
            end = span.end
        return text[:end]


def _is_meant(source: str, label: str) -> bool:
    return source == label or (label.endswith("/") and source.startswith(label))


def _chunk(document: Document, page: int, start: int, text: str, n_tokens: int) -> Chunk:
    end = start + len(text)
    return Chunk(
        chunk_id=chunk_id(document.document_id, document.content_sha256, "page", start, end),
        document_id=document.document_id,
        collection=document.collection,
        source=document.source,
        content_sha256=document.content_sha256,
        ordinal=page - 1,
        text=text,
        start=start,
        end=end,
        page_first=page,
        page_last=page,
        token_count=n_tokens,
        overlap=0,
        kind="text",
        language="unknown",
    )
