"""What was said before, and how a follow-up becomes a question that stands alone.

The rule without a model stands here, and what a model is told instead of it. Nothing is searched or stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import regex

from rag_platform.errors import CallerError
from rag_platform.text.analyze import analyze
from rag_platform.text.language import is_function_word
from rag_platform.text.normalize import search_key, stored_text

__all__ = ["Turn", "checked", "condensing", "is_follow_up", "standalone", "topic"]

Role = Literal["user", "assistant"]

MOST_TURNS = 20
MOST_CHARACTERS = 24_000
"""Of a history; older turns are left out, whole."""
_TOPIC_WORDS = 12
_FEW = 1
"""Words with a meaning in a follow-up that names nothing (``अनि शुल्क?``)."""
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}\u200c\u200d'’.-]*[\p{L}\p{M}\p{N}\u200c\u200d]")


def _keys(words: str) -> frozenset[str]:
    return frozenset(map(search_key, words.split()))


_POINTING = _keys(
    "त्यो त्यसको त्यसका त्यसकी त्यसमा त्यसले त्यसलाई त्यसबाट त्यसबारे त्यसपछि त्यस त्यहाँ त्यति त्यस्तो"
    " त्यसरी ती तिनको तिनका तिनलाई तिनीहरू तिनीहरूको यो यसको यसका यसकी यसमा यसले यसलाई यसबाट यसबारे यस"
    " यी यिनको यिनीहरू उक्त सोही उही उनी उनको उनका उनले उनलाई उहाँ उहाँको उहाँले उहाँलाई ऊ उसको उसले"
    " उसलाई it its itself that this those these they them their he she his her him there then former"
    " latter one ones same tyo tesko tyasko tesma tyasma tesle tyasle teslai tyaslai tesbata tes tyas"
    " tyaha tyahan yo yesko yasko yesma yasma yesle yaslai yeslai ti tini tiniharu uni unko unle unlai"
    " uha uhako uhale u usko usle uslai"
)
_OPENING = _keys("अनि त्यसोभए and then also so ani tyasobhaye")
_POLITE = _keys(
    "कृपया थप पनि भन्नुहोस् बताउनुहोस् दिनुहोस् बारेमा बारे please tell me about more what how kripaya thap pani barema"
)
_ASKING = _keys(
    "के को कसले कसको कसलाई कहाँ कहिले कति किन कसरी कुन कस्तो कस्ता हो हुन् छ छन् हुन्छ हुन्छन् गर्ने"
    " गर्नु गर्नुपर्छ पर्छ लाग्छ सकिन्छ मिल्छ र वा ke ko kasle kaha kahile kati kina kasari kun kasto ho"
    " hun cha chha chan huncha hunchha parcha parchha lagcha lagchha garne garnu ra wa ma le lai bata"
    " when where why which who whom whose much many long old name"
)
_ASKING_WITH_ENDINGS = frozenset(
    search_key(word + ending)
    for words, endings in (
        ("के कहाँ कहिले कति कुन", "सम्म देखि बाट भित्र मा को का की ले लाई वटा जना पटक तिर"),
        ("ke kaha kahile kati kun", "samma dekhi bata bhitra ma ko ka ki le lai wata jana patak tira"),
    )
    for word in words.split()
    for ending in endings.split()
)
"""Nepali writes postpositions onto the word: ``कहिलेसम्म`` asks as ``कहिले`` does."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation."""

    role: Role
    content: str


def checked(history: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return the last turns of a history within its limits, in order.

    Raises:
        CallerError: A role is neither ``user`` nor ``assistant``.
    """
    kept: list[Turn] = []
    characters = 0
    for number, turn in reversed(list(enumerate(history, start=1))):
        if turn.role not in get_args(Role):
            known = " or ".join(get_args(Role))
            raise CallerError(f"turn {number} of the history has the role {turn.role!r}; it must be {known}")
        characters += len(turn.content)
        if len(kept) == MOST_TURNS or characters > MOST_CHARACTERS:
            break
        if text := stored_text(turn.content).strip():
            kept.append(Turn(turn.role, text))
    return tuple(reversed(kept))


def is_follow_up(question: str) -> bool:
    """Say whether a question leans on what was said before.

    It points back (``त्यसको``, ``it``, ``tesko``), opens as a continuation (``अनि``, ``and``), or has at most
    one word with a meaning.

    >>> is_follow_up("त्यसको म्याद कति हो?"), is_follow_up("अनि शुल्क?"), is_follow_up("What about it?")
    (True, True, True)
    >>> is_follow_up("नागरिकताको म्याद कति हो?"), is_follow_up("सम्पत्ति कर कहिले तिर्ने?")
    (False, False)
    """
    words = [search_key(word) for word in _WORD.findall(question)]
    if not words:
        return False
    return words[0] in _OPENING or any(word in _POINTING for word in words) or len(_meaning(question)) <= _FEW


def standalone(question: str, history: Sequence[Turn]) -> str:
    """Return a question that can be searched without its history, by a rule and without a model.

    A follow-up is put behind the topic of the question before it: that question's words with a meaning, where
    it was itself a follow-up, behind the topic before it. Any other question stays as it is.

    >>> turns = [Turn("user", "सवारी चालक अनुमतिपत्रको शुल्क कति हो?"), Turn("assistant", "…")]
    >>> standalone("त्यसको म्याद कति हो?", turns)
    'सवारी चालक अनुमतिपत्रको शुल्क: त्यसको म्याद कति हो?'
    """
    if not is_follow_up(question):
        return question
    before = topic([turn.content for turn in history if turn.role == "user"])
    return f"{before}: {question}" if before else question


def topic(questions: Sequence[str]) -> str:
    """Return what the last of some questions is about: its words with a meaning, at most twelve."""
    words: list[str] = []
    for question in reversed(questions):
        words = [word for word in _meaning(question) if word not in words] + words
        if words and not is_follow_up(question):
            break
    return " ".join(words[:_TOPIC_WORDS])


def condensing(question: str, history: Sequence[Turn]) -> list[dict[str, str]]:
    """Return the conversation that asks a model for the stand-alone question."""
    said = "\n".join(f"{turn.role}: {turn.content}" for turn in history[-6:])
    task = (
        "Rewrite the last question so that it can be understood without the conversation: replace words that"
        " point back by what they mean. Keep its language and script, add nothing, answer nothing. If it"
        " stands alone already, repeat it. Write the question only, on one line."
    )
    return [
        {"role": "system", "content": task},
        {"role": "user", "content": f"Conversation:\n{said}\n\nLast question: {question}"},
    ]


def _meaning(question: str) -> list[str]:
    """Return the words of a question that say what it is about, as they stand in it."""
    dropped = _POINTING | _OPENING | _POLITE | _ASKING | _ASKING_WITH_ENDINGS
    words = [word for word in _WORD.findall(question) if search_key(word) not in dropped]
    return [word for word in words if analyze(word) and not is_function_word(word.lower())]
