"""Whether each sentence of an answer is in what it cites, and where: checked by code against the stored text.

No model is asked and nothing is searched. What a claim says and whether a passage says it, too, is
``support``'s to judge; here are quotes, marks, spans, and what becomes of a sentence that nothing supports.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import regex

from rag_platform.answering.facts import facts_of
from rag_platform.answering.negation import denied
from rag_platform.answering.prompts import REFUSALS, Spoken, is_refusal
from rag_platform.answering.support import Claim, cited, claims_of, support, without_marks
from rag_platform.answering.wording import plainer
from rag_platform.text.analyze import terms
from rag_platform.text.dates import ascii_digits
from rag_platform.text.normalize import search_key
from rag_platform.text.segment import sentences
from rag_platform.types import Chunk, Hit

__all__ = [
    "UNVERIFIED",
    "Citation",
    "Unsupported",
    "Verified",
    "Verifier",
    "first_page",
    "source_text",
    "verify",
]

UNVERIFIED: dict[Spoken, str] = {"ne": "[अप्रमाणित]", "en": "[unverified]"}
"""What stands behind a sentence that the cited passages do not support."""
_SHORTEST_RUN = 24
"""Characters in a row that an excerpt has in common with its source, unless it is a whole sentence."""
_HALF = 2
"""Words that half a sentence has at least."""
_MARK = regex.compile(r"[^\S\n]*\[\s*\d+(?:\s*[,;–-]\s*\d+)*\s*\]")
_LATE_MARKS = regex.compile(r"(?P<stop>[।॥.?!]+)(?P<marks>(?:[^\S\n]*\[[\d०-९\s,;–-]+\])+)")
_STOP = regex.compile(r"""[।॥.?!]+["'”’»)\]*_]*$""")
_QUOTED = regex.compile(
    r"“([^”]+)”|«([^»]+)»|\"([^\"]+)\"|(?<![\p{L}\p{M}\p{N}])[‘']([^’']+)[’'](?![\p{L}\p{M}])"
)
_ELLIPSIS = regex.compile(r"\s*(?:…|\.\.\.|\[…\]|\[\.\.\.\])\s*")
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}\u200c\u200d'’]+")
_NO_CLAIM = regex.compile(r"\s*#{1,6}\s.*|.*[::]\**\s*|\s*\|[\s:|-]+\|\s*", regex.S)


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a sentence of an answer stands in the sources.

    Attributes:
        marker: The ``n`` of ``[n]``: the hit's place, from 1.
        page: On which the quote begins.
        start: First code point of the quote in the document; ``end`` the one behind its last.
        quote: The stored text there, exactly.
        verified: The passage supports the sentence.
    """

    marker: int
    document_id: str
    chunk_id: str
    source: str
    page: int
    start: int
    end: int
    quote: str
    verified: bool


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A sentence that what it cites does not support, and why."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Verified:
    """An answer after the check.

    Attributes:
        text: With a word behind each unsupported sentence; in strict mode without those sentences, and the
            words of a refusal where none is left.
        refused: None is left, or the answer was a refusal.
    """

    text: str
    citations: tuple[Citation, ...]
    unsupported: tuple[Unsupported, ...]
    refused: bool = False


def first_page(chunk: Chunk, position: int) -> int:
    """Return the page on which a chunk begins: that of any position in it, where it touches only one."""
    return chunk.page_first


def verify(
    answer_text: str, hits: Sequence[Hit], *, strict: bool = False, language: Spoken = "ne"
) -> Verified:
    """Return an answer checked against the stored text of the hits that it cites by ``[n]``.

    Args:
        answer_text: As a generator wrote it.
        hits: The first is ``[1]``.
        strict: Leave out what is not supported, or cannot be checked, instead of marking it.
        language: Of the words that are added.
    """
    verifier = Verifier(hits, strict=strict, language=language)
    text = verifier.feed(answer_text) + verifier.finish()
    return Verified(text, tuple(verifier.citations), tuple(verifier.unsupported), verifier.refused)


def source_text(hit: Hit) -> str:
    """Return what a generator reads of a hit: its text between that of the chunks around it."""
    joined = hit.chunk.header
    last: Chunk | None = None
    for chunk in _parts(hit):
        gap = "\n\n" if last is None or chunk.start > last.end else ""
        overlap = max(0, last.end - chunk.start) if last else 0
        joined = f"{joined}{gap if joined else ''}{chunk.text[overlap:]}"
        last = chunk
    return joined


class Verifier:
    """Checks an answer while it is written: whole sentences go out, each checked.

    Args:
        hits: The first is ``[1]``.
        strict: Leave out what is not supported, or cannot be checked.
        language: Of the words that are added.
        page_of: Tells the page of a position of a chunk's document.
    """

    def __init__(
        self,
        hits: Sequence[Hit],
        *,
        strict: bool = False,
        language: Spoken = "ne",
        page_of: Callable[[Chunk, int], int] = first_page,
    ) -> None:
        self._sources = [_Source(number, hit, page_of) for number, hit in enumerate(hits, start=1)]
        self._strict, self._language = strict, language
        self._held, self._raw, self._kept = "", "", False
        self.citations: list[Citation] = []
        self.unsupported: list[Unsupported] = []

    @property
    def refused(self) -> bool:
        """Whether all that was written is a refusal, or nothing of it may be said."""
        return is_refusal(self._raw) or (self._strict and not self._kept)

    def feed(self, text: str) -> str:
        """Take the next piece and return what is checked by now; may be empty."""
        self._raw += text
        self._held += text
        moved = _moved(self._held)
        spans = sentences(moved)
        ready = len(spans) - 1
        while ready > 0 and not regex.search(r"\p{L}", moved[spans[ready].start : spans[ready].end]):
            ready -= 1
        if ready <= 0:
            return ""
        self._held = moved[spans[ready].start :]
        return self._checked(moved[: spans[ready].start])

    def finish(self) -> str:
        """Return what was held back, checked, or a refusal where nothing is left to say."""
        rest = self._checked(_moved(self._held))
        self._held = ""
        if self.refused and not is_refusal(self._raw):
            return REFUSALS[self._language]
        return rest if self._raw.strip() else REFUSALS[self._language]

    def _checked(self, text: str) -> str:
        checked, at = "", 0
        for span in sentences(text):
            gap, at = text[at : span.start], span.end
            said = self._said(text[span.start : span.end])
            checked += f"{gap}{said}" if said else ""
        return checked + text[at:]

    def _said(self, sentence: str) -> str:
        """Return a sentence as it may be said, empty where it may not."""
        known = [number for number in cited(sentence) if 1 <= number <= len(self._sources)]
        wrong = [number for number in cited(sentence) if number not in known]
        text = without_marks(sentence)
        if _NO_CLAIM.fullmatch(text) or not claims_of(text) or is_refusal(sentence):
            return sentence if self._kept or not self._strict or is_refusal(sentence) else ""
        shown = _with_marks(sentence, known) if wrong else sentence
        supporting, reasons = self._supporting(text, known)
        if supporting and not wrong:
            self._kept = True
            self._cite(text, known or supporting[:1], supporting)
            return shown if known else _with_marks(sentence, supporting[:1])
        reason = f"there is no source {wrong[0]}" if wrong else reasons
        self.unsupported.append(Unsupported(text, reason))
        if self._strict:
            return ""
        self._cite(text, known, [])
        return _before_stop(shown, UNVERIFIED[self._language])

    def _supporting(self, text: str, known: Sequence[int]) -> tuple[list[int], str]:
        """Return which of the cited sources, of all without a mark, support a claim; and why none does."""
        if not self._sources:
            return [], "there is no source"
        looked_at = [self._sources[number - 1] for number in known] or self._sources
        reasons = {source.number: source.objection(text) for source in looked_at}
        supporting = [number for number, reason in reasons.items() if not reason]
        return supporting, "" if supporting else next(iter(reasons.values()))

    def _cite(self, text: str, numbers: Sequence[int], supporting: Sequence[int]) -> None:
        for number in numbers:
            citation = self._sources[number - 1].citation(text, verified=number in supporting)
            if citation not in self.citations:
                self.citations.append(citation)


class _Source:
    """A hit that is cited as ``[number]``."""

    def __init__(self, number: int, hit: Hit, page_of: Callable[[Chunk, int], int]) -> None:
        self.number, self._hit, self._page_of = number, hit, page_of

    @cached_property
    def _text(self) -> str:
        """Return all that may be cited, below the headings where it stands."""
        heading = " ".join(part for part in (self._hit.chunk.path, self._hit.chunk.header) if part)
        body = source_text(self._hit).removeprefix(self._hit.chunk.header).lstrip("\n")
        return f"{heading}\n\n{body}" if heading else body

    @cached_property
    def _sentences(self) -> list[tuple[Chunk, int, int, str]]:
        """Return chunk, start, end and folded words of each sentence."""
        return [
            (chunk, span.start, span.end, _folded(chunk.text[span.start : span.end]))
            for chunk in _parts(self._hit)
            for span in sentences(chunk.text)
        ]

    def objection(self, claim: str) -> str:
        """Return why the source does not support a claim, an empty string where it does."""
        for excerpt in _excerpts(claim):
            if not self._holds(excerpt):
                return f"these words are not in the source: {excerpt}"
        if self._says(claim):
            return ""
        if repeated := self._repeated(claim):
            return f"the number {repeated} is not there so often"
        if self._is_spliced(claim):
            return "it joins halves of two sentences"
        found = support(Claim(claim, ()), [self._text])
        if found is not None and found.reason:
            reworded = plainer(claim, self._text)
            again = support(Claim(reworded, ()), [self._text]) if claims_of(reworded) else None
            return "" if again is not None and not again.reason else found.reason
        if found is not None:
            return ""
        stated = facts_of(self._text)
        for fact in facts_of(claim):
            if not any(fact.agrees(other) for other in stated):
                return f"the number {fact.value or fact.day or fact.fiscal_year} is not in the source"
        return "the source is in another script: only its numbers and dates agree"

    def _holds(self, excerpt: str) -> bool:
        """Say whether words in quotation marks stand in the source, in a row."""
        folded = _folded(excerpt)
        return any(folded in sentence for *_, sentence in self._sentences) or folded in _folded(self._text)

    def _says(self, claim: str) -> bool:
        """Say whether a claim is a sentence of the source, or so much of one that nothing else denies it."""
        folded = _folded(claim)
        for *_, sentence in self._sentences:
            before, found, after = f" {sentence} ".partition(f" {folded} ")
            if found and (len(folded) >= _SHORTEST_RUN or not (before + after).strip()):
                return not any(denied(word) is not None for word in _WORD.findall(before + after))
        return False

    def _repeated(self, claim: str) -> str:
        """Return a number that a claim has more often than the source: 7 to 7 is not 5 to 7."""
        facts = facts_of(claim)
        for fact in facts:
            n_here, n_there = (
                sum(fact.agrees(other) and fact.unit == other.unit for other in stated)
                for stated in (facts, facts_of(self._text))
            )
            if 0 < n_there < n_here:
                return str(fact.value if fact.value is not None else fact.day or fact.fiscal_year)
        return ""

    def _is_spliced(self, claim: str) -> bool:
        """Say whether a claim is the beginning of one sentence and, mid-way, the end of another."""
        words = _folded(claim).split()
        spaced = [f" {sentence} " for *_, sentence in self._sentences]
        for cut in range(_HALF, len(words) - _HALF + 1):
            head, tail = f" {' '.join(words[:cut])} ", f" {' '.join(words[cut:])} "
            begun = [s for s in spaced if head in s and not s.endswith(head)]
            ended = [s for s in spaced if tail in s and not s.startswith(tail)]
            if begun and ended and not any(tail in sentence for sentence in begun):
                return True
        return False

    def citation(self, claim: str, *, verified: bool) -> Citation:
        """Return the sentence of the source that has most of a claim's words."""
        asked, folded = set(terms(claim)), _folded(claim)

        def likeness(sentence: tuple[Chunk, int, int, str]) -> tuple[bool, float]:
            own = set(terms(sentence[3]))
            shared = len(asked & own)
            return folded in sentence[3], shared / (len(asked) or 1) + 0.1 * shared / (len(own) or 1)

        chunk = self._hit.chunk
        start, end = 0, len(chunk.text)
        if self._sentences:
            chunk, start, end, _ = max(self._sentences, key=likeness)
        return Citation(
            marker=self.number,
            document_id=chunk.document_id,
            chunk_id=chunk.chunk_id,
            source=chunk.source,
            page=self._page_of(chunk, chunk.start + start),
            start=chunk.start + start,
            end=chunk.start + end,
            quote=chunk.text[start:end],
            verified=verified,
        )


def _parts(hit: Hit) -> list[Chunk]:
    """Return the chunks of a hit in the order of the document."""
    return sorted((hit.chunk, *hit.context), key=lambda chunk: chunk.ordinal)


def _folded(text: str) -> str:
    """Return the words of a text as they are compared: no punctuation, no joiners, one kind of digits."""
    return " ".join(_WORD.findall(search_key(text)))


def _excerpts(claim: str) -> list[str]:
    """Return what stands in quotation marks and is more than a name, at an ellipsis in parts."""
    quoted = (next(filter(None, groups)) for groups in _QUOTED.findall(claim))
    return [part for excerpt in quoted for part in _ELLIPSIS.split(excerpt) if len(_WORD.findall(part)) > 2]


def _moved(text: str) -> str:
    """Return a text with the marks that follow a full stop before it."""
    return str(_LATE_MARKS.sub(lambda match: f"{match['marks']}{match['stop']}", text))


def _with_marks(sentence: str, numbers: Sequence[int]) -> str:
    """Return a sentence with these marks instead of its own."""
    plain = ascii_digits(sentence)
    for match in reversed(list(_MARK.finditer(plain))):
        sentence = sentence[: match.start()] + sentence[match.end() :]
    return _before_stop(sentence, " ".join(f"[{number}]" for number in numbers)) if numbers else sentence


def _before_stop(sentence: str, mark: str) -> str:
    stop = _STOP.search(sentence)
    end = stop.start() if stop else len(sentence.rstrip())
    return f"{sentence[:end].rstrip()} {mark}{sentence[end:]}"
