"""Whether passages support what an answer says: claim by claim, by terms, numbers, dates and denials.

Rules without a model, and strict: each word with a meaning must stand in the passage, in any inflection; a
number must stand beside the same words; what is denied there must be denied here and nothing else. So a
changed, denied or invented claim does not pass, and a free paraphrase does not either: the share of supported
claims is a lower bound. Questions and scores are not known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex

from rag_platform.answering.facts import Fact, facts_of, number_spans
from rag_platform.answering.negation import ANY, denied
from rag_platform.text.analyze import analyze
from rag_platform.text.dates import ascii_digits, find_dates, find_month_days
from rag_platform.text.language import is_function_word, script_shares
from rag_platform.text.normalize import search_key
from rag_platform.text.segment import sentences

__all__ = ["Claim", "ClaimSupport", "cited", "claims_of", "support", "without_marks"]

_MARK = regex.compile(r"\[\s*(\d+(?:\s*[,;–-]\s*\d+)*)\s*\]")
_LATE_MARKS = regex.compile(r"(?P<stop>[।॥.?!]+[\"'”’»)]*)(?P<marks>(?:\s*\[[\d०-९\s,;–-]+\])+)")
_CLAUSE = regex.compile(r"(?:[,;:—]|\s(?:र|तर|but|and|while|whereas|जबकि)(?=\s))\s*(?!\d{2,3}(?:,|\b))")
_ABOVE = regex.compile(r"(?m)^[^\S\n]*(?:#{1,6} .*|\|.*\|(?=[^\S\n]*\n[^\S\n]*\|[\s:|-]+\|))$")
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}\u200c\u200d'’]+")
_OBLIGED = regex.compile(r"नु(?:होला|होस्|स्|पर्\p{M}*\p{L}*.*)$")
"""``तिर्नुहोस्``, ``तिर्नुपर्छ``: the verb is what comes before."""
_RUN = 3
"""Sentences that one claim may be drawn from: as many as stand side by side."""
_COMMON = 3
"""Characters that two inflections of a word share at least, beside what follows them."""
_INFLECTED = regex.compile(r"[ािीुूेो्ंनउएइईदछलयक]{0,4}")
_LIGHT_VERB = regex.compile(
    r"(?:गर|गराउ|गरा)(?:्न.*|्छ.*|्यो|े.*|ी.*|ि(?:ए|न|ं|य).*|्द.*|ौं|ाउ.*|ा(?:ए|उ|इ).*|)"
    r"|गर्|पर्|सक्|हु|हुन.*|हुं.*|हो|होस्|होला|भए.*|भयो|भई|भन(?:े|ी|्न|ि|ेर).*|छ|छन्|छौं|छु|थि(?:यो|ए.*|इन.*)|पर(?:्छ.*|्न.*|्यो|ेको)"
    r"|सक(?:्छ.*|्न.*|ि(?:न|ए|य|ं).*|े.*)|रह(?:े.*|न.*|्)|रहने|नेछ"
)


def _keys(words: str) -> frozenset[str]:
    return frozenset(map(search_key, words.split()))


_LIGHT = _keys(
    "र तथा एवं एवम् वा अथवा पनि नै त चाहिँ यो त्यो यी ती यस त्यस यसको त्यसको यसले त्यसले यसमा त्यसमा उक्त सो जुन जो"
    " उनी उनले उनको तर किनभने त्यसैले अर्थात् अनुसार लागि का की को ले लाई मा बाट देखि सम्म एक एउटा गते समेत"
    " सन्दर्भ प्रसङ्ग दस्तावेज जानकारी दिइएको उल्लेख उल्लेखित रूपमा रुपमा हजुर कुन के कति कहिले"
    " according per passage document context states stated says mentioned given provided also thus therefore"
    " a an the is are was were be been being it its this that these those they he she of to in on at by for"
    " from with as and or must should shall will would can could may might has have had do does did yes"
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of an answer without its marks; ``citations`` are the passages it cites, from 1."""

    text: str
    citations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ClaimSupport:
    """What became of a claim.

    Attributes:
        passage: Number, from 1, of the first passage that supports it; None where none does.
        reason: Why none does; empty where one does.
    """

    claim: Claim
    passage: int | None
    reason: str = ""


def cited(text: str) -> tuple[int, ...]:
    """Return the numbers that a text cites, ascending; in both digit systems, ``[1-3]`` being three.

    >>> cited("कर तिर्नुपर्छ [१]। Fees apply [2, 4].")
    (1, 2, 4)
    """
    found: set[int] = set()
    for match in _MARK.finditer(ascii_digits(text)):
        for part in regex.split(r"[,;]", match[1]):
            first, _, last = regex.sub("[–-]", "-", part).partition("-")
            found.update(range(int(first), min(int(last or first), int(first) + 50) + 1))
    return tuple(sorted(found))


def without_marks(text: str) -> str:
    """Return a text without its citation marks.

    >>> without_marks("कर तिर्नुपर्छ [१]।")
    'कर तिर्नुपर्छ।'
    """
    plain = ascii_digits(text)
    for match in reversed(list(_MARK.finditer(plain))):
        text = text[: match.start()].rstrip(" ") + text[match.end() :]
    return text.strip()


def claims_of(answer: str) -> list[Claim]:
    """Return the sentences of an answer that state something; marks after a full stop belong before it."""
    moved = _LATE_MARKS.sub(lambda match: f"{match['marks']}{match['stop']}", answer)
    claims = []
    for span in sentences(moved):
        sentence = moved[span.start : span.end]
        text = without_marks(sentence)
        if _read(text).terms or _read(text).facts:
            claims.append(Claim(text, cited(sentence)))
    return claims


def support(claim: Claim, passages: Sequence[str]) -> ClaimSupport | None:
    """Return which passage supports a claim, if any; None where all are in another script than the claim.

    Args:
        claim: One of ``claims_of``.
        passages: Texts, in the order in which they are cited.
    """
    script = _script(claim.text)
    readable = [
        (number, text) for number, text in enumerate(passages, start=1) if script in script_shares(text)
    ]
    if passages and not readable:
        return None
    reasons = ["there is no passage"]
    for number, text in readable:
        reason = _missing(_read(claim.text), text)
        if not reason:
            return ClaimSupport(claim, number)
        reasons.append(reason)
    return ClaimSupport(claim, None, min(reasons[1:] or reasons, key=_distance))


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a stretch of text says: terms with a meaning, numbers and days, and what it denies."""

    terms: frozenset[str]
    facts: tuple[Fact, ...]
    denials: tuple[str, ...]


def _script(text: str) -> str:
    return next(iter(script_shares(text)), "")


@lru_cache(maxsize=20_000)
def _read(text: str) -> _Reading:
    blanked = text
    days = [(found.start, found.end) for find in (find_dates, find_month_days) for found in find(text)]
    for start, end in (*days, *number_spans(text)):
        blanked = blanked[:start] + " " * (end - start) + blanked[end:]
    terms: set[str] = set()
    denials: list[str] = []
    for match in _WORD.finditer(blanked):
        denies = denied(match[0], blanked[match.end() : match.end() + 8])
        if denies is not None:
            is_light = denies == ANY or _LIGHT_VERB.fullmatch(denies)
            denials.append(ANY if is_light else (analyze(denies) or [ANY])[0])
        if denies is None or denials[-1] != ANY:
            plain = _OBLIGED.sub("ने", denies or match[0])
            terms.update(() if _is_light(match[0]) else analyze(plain))
    return _Reading(frozenset(terms), tuple(facts_of(text)), tuple(sorted(denials)))


def _is_light(word: str) -> bool:
    key = search_key(word)
    return key in _LIGHT or bool(_LIGHT_VERB.fullmatch(key)) or (key.isascii() and is_function_word(key))


def _missing(claim: _Reading, passage: str) -> str:
    """Return why a passage does not support a claim, an empty string where it does."""
    whole = _read(passage)
    absent = sorted(term for term in claim.terms if not _has(whole.terms, term))
    if absent:
        return f"not in the passages: {', '.join(absent)}"
    unstated = [fact for fact in claim.facts if not any(fact.agrees(other) for other in whole.facts)]
    if unstated:
        return f"the number {_shown(unstated[0])} is not in the passages"
    title = _title(passage)
    runs = _runs(claim, _parts(passage), title)
    reasons = [_contradiction(claim, [part for _, part in run], title) for run in runs]
    if not reasons:
        return "its words stand too far apart"
    return "" if "" in reasons else min(reasons, key=_distance)


def _distance(reason: str) -> int:
    order = ("denied", "number", "too far", "not in")
    return next((at for at, word in enumerate(order) if word in reason), len(order))


@lru_cache(maxsize=2_000)
def _parts(passage: str) -> tuple[tuple[int, _Reading], ...]:
    """Return the clauses of a passage, each with the number of its sentence."""
    found = []
    for at, span in enumerate(sentences(passage)):
        sentence, start = passage[span.start : span.end], 0
        for end in (*(m.end() for m in _CLAUSE.finditer(sentence)), len(sentence)):
            found.append((at, _read(sentence[start:end])))
            start = end
    return tuple(found)


@lru_cache(maxsize=2_000)
def _title(passage: str) -> _Reading:
    """Return what the headings and the headers of tables say: it counts in all of a passage."""
    first = next(iter(sentences(passage)), None)
    line = passage[first.start : first.end] if first else ""
    lines = [match[0] for match in _ABOVE.finditer(passage)]
    read = [_read(one) for one in (*lines, "" if line[-1:] in "।॥.?!" else line)]
    terms = frozenset().union(*(one.terms for one in read))
    return _Reading(terms, tuple(fact for one in read for fact in one.facts), ())


def _runs(
    claim: _Reading, parts: Sequence[tuple[int, _Reading]], title: _Reading
) -> Iterator[Sequence[tuple[int, _Reading]]]:
    """Yield the shortest runs of clauses that hold all terms of a claim, a title's aside."""
    for first, (sentence, _) in enumerate(parts):
        last = first
        while last < len(parts) and parts[last][0] - sentence < _RUN:
            run = parts[first : last + 1]
            if _covers(claim, run, title):
                if last == first or not _covers(claim, run[1:], title):
                    yield run
                break
            last += 1


def _covers(claim: _Reading, run: Sequence[tuple[int, _Reading]], title: _Reading) -> bool:
    held = frozenset().union(*(part.terms for _, part in run))
    facts = [*title.facts, *(fact for _, part in run for fact in part.facts)]
    stated = all(any(fact.agrees(other) for other in facts) for fact in claim.facts)
    return stated and all(_has(held, term) or _has(title.terms, term) for term in claim.terms)


def _contradiction(claim: _Reading, run: Sequence[_Reading], title: _Reading) -> str:
    """Return what a run of clauses that holds a claim's terms says otherwise, an empty string for nothing."""
    if not _same_denials(claim.denials, [denial for part in run for denial in part.denials]):
        return "denied in one and not in the other"
    if _is_mixed(claim, run):
        return "its words stand too far apart, in different statements"
    for fact in claim.facts:
        if any(fact.agrees(other) for other in title.facts):
            continue
        if not any(_stands_with(fact, claim, part) for part in run):
            return f"the number {_shown(fact)} stands with other words"
    return ""


def _shown(fact: Fact) -> str:
    return str(fact.value) if fact.value is not None else fact.day or fact.fiscal_year or "of a day"


def _same_denials(one: Sequence[str], other: Sequence[str]) -> bool:
    if len(one) != len(other):
        return False
    named, rest = [d for d in one if d != ANY], [d for d in other if d != ANY]
    unmatched = [d for d in named if not _has(frozenset(rest), d)]
    return len(unmatched) <= len(other) - len(rest)


def _is_mixed(claim: _Reading, run: Sequence[_Reading]) -> bool:
    """Say whether a claim takes a part of each of two statements that say more: who did one did the other."""
    held = [frozenset(term for term in claim.terms if _has(part.terms, term)) for part in run]
    own = 0
    for at, part in enumerate(run):
        others = frozenset().union(*(terms for other, terms in enumerate(held) if other != at))
        adds = any(not _has(claim.terms, term) for term in part.terms)
        own += bool(adds and held[at] - others)
    return own > 1


def _stands_with(fact: Fact, claim: _Reading, part: _Reading) -> bool:
    """Say whether a clause states a fact of a claim about the same things.

    Its unit must be the same where the clause gives that unit to another number, and a clause with words of
    its own must not leave out words of the claim.
    """
    same = [other for other in part.facts if fact.agrees(other)]
    if not same:
        return False
    units = {other.unit for other in part.facts}
    if fact.unit in units and fact.unit not in {other.unit for other in same}:
        return False
    lacks = any(not _has(part.terms, term) for term in claim.terms)
    adds = any(not _has(claim.terms, term) for term in part.terms)
    return not (lacks and adds)


def _has(terms: frozenset[str], term: str) -> bool:
    return term in terms or any(_same_word(term, other) for other in terms)


@lru_cache(maxsize=200_000)
def _same_word(one: str, other: str) -> bool:
    """Say whether two Devanagari terms are inflections of one word: a common beginning, then endings."""
    if one.isascii() or other.isascii() or one[0] != other[0]:
        return False
    common = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        common += 1
    ends = one[common:], other[common:]
    least = 2 if all(end[:1] in "उइएई" for end in ends) else _COMMON  # पाउनु, पाइन्छ, पाए
    return common >= least and all(_INFLECTED.fullmatch(end) for end in ends)
