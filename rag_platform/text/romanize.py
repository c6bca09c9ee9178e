"""Nepali typed in Latin letters: which words of a collection a question may mean.

A word is filed under a phonetic key, which keeps what every way of typing it has in common; a Latin token
finds the words of its key, and spelling ranks them. How a vocabulary is stored is the index's business.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nsmallest
from typing import NamedTuple, Protocol

import regex
from rapidfuzz.distance import JaroWinkler

from rag_platform.text.analyze import ALL, analyze, bare_forms, weighted_terms
from rag_platform.text.language import is_function_word
from rag_platform.text.scripts import CONSONANTS, SCRIPTS, VOWEL_SIGNS, VOWELS
from rag_platform.types import AnalyzerOptions

__all__ = [
    "RECIPE",
    "Candidate",
    "Romanized",
    "TokenReading",
    "Vocabulary",
    "WordVocabulary",
    "phonetic_key",
    "reading",
    "rough_latin",
    "similarity",
    "vocabulary_forms",
    "word_keys",
]

RECIPE = "words-1 phonetic-key-1"
"""Version of ``vocabulary_forms`` and ``word_keys``, by which collections file their words when published."""

MAX_STEMS = 4
"""Stems that a token is expanded to."""
MIN_SIMILARITY = 0.9
"""A word of the reading is at least so like its token; below, the token stays as it was typed."""
MAX_CANDIDATES = 20
"""Words that are named for a token."""
POWER = 3
"""Weight of an expansion: its similarity to this power."""
FUNCTION_WEIGHT = 0.3
"""Weight of a function word (kun, kati, garna): many words sound like it, and it tells little apart."""
BREATH_ADDED, BREATH_MISSED = 0.03, 0.01
"""What an ``h`` costs that the word has not, or the token has not: typists leave it out and add none."""

_WORD = regex.compile(
    r"[[\p{Devanagari}\p{Bengali}\p{Telugu}]&&[\p{L}\p{M}]][\p{L}\p{M}\u200c\u200d]*", regex.V1
)
_TOKEN = regex.compile(r"(?<![\p{L}\p{M}\p{N}])\p{Latin}+6?(?![\p{Latin}\p{M}\p{N}])")
_INDIC = {script.block for script in SCRIPTS.values() if script.block}
_UNSPOKEN = {0x200C: None, 0x200D: None, 0x093C: None, 0x09BC: None}
_VIRAMA, _ANUSVARA, _CHANDRABINDU, _VISARGA = "्", "ं", "ँ", "ः"
_TYPED_ALSO = (("ँ", ""), ("ज्ञ", "ग्य"), ("क्ष", "छ"))
"""Spellings that typists do not keep apart and that change the key: aaucha for आउँछ, gyan for ज्ञान."""
_SHORT_FORMS = {
    "k": "ke", "r": "ra", "chai": "chahi", "thyo": "thiyo", "thye": "thie", "bhako": "bhaeko",
    "vako": "bhaeko", "bhaka": "bhaeka", "gako": "gaeko", "aako": "aaeko", "xu": "chhu", "hjr": "hajur",
}  # fmt: skip
_POSTPOSITIONS = {
    "ko": "को", "ka": "का", "ki": "की", "le": "ले", "lai": "लाई", "ma": "मा", "haru": "हरू", "bata": "बाट",
    "sanga": "सँग", "samma": "सम्म", "dekhi": "देखि",
}  # fmt: skip
_GLUED = regex.compile(rf"(?<=\p{{L}}{{3}})(?:{'|'.join(_POSTPOSITIONS)})$")


class Vocabulary(Protocol):
    """The words of a collection by phonetic key."""

    def candidates(self, key: str) -> Sequence[tuple[str, int]]:
        """Return the words filed under a key, each with the number of chunks that hold it."""
        ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """A word of the collection that a token may mean; ``similarity`` from 0 to 1, ``df`` chunks with it."""

    word: str
    similarity: float
    df: int


@dataclass(frozen=True, slots=True)
class TokenReading:
    """What became of one Latin token.

    Attributes:
        token: As it was typed.
        word: Its reading; None where it stays as typed.
        candidates: The words it may mean, most alike first.
        options: Weighted terms of each stem it is expanded to; of a token without candidates its own.
    """

    token: str
    word: str | None
    candidates: tuple[Candidate, ...]
    options: tuple[Mapping[str, float], ...]


@dataclass(frozen=True, slots=True)
class Romanized:
    """A question in Latin letters, read as Nepali.

    Attributes:
        text: The best reading; tokens without one stand as typed.
        terms: Weighted terms for the lexical index: the question's own, and those its tokens may mean.
        tokens: What became of each Latin token.
        others: Weighted terms of what is not in Latin letters: numbers, Devanagari.
    """

    text: str
    terms: Mapping[str, float]
    tokens: tuple[TokenReading, ...]
    others: Mapping[str, float]

    def ideal(self, idf: Callable[[str], float]) -> float:
        """Return the lexical score of a chunk that holds, of each token, the best of its options.

        The sum over all ``terms`` would be the score of a chunk that holds all options of a token at once.
        """

        def score(terms: Mapping[str, float]) -> float:
            return sum(weight * idf(term) for term, weight in terms.items())

        return score(self.others) + sum(max(map(score, token.options)) for token in self.tokens)


class WordVocabulary:
    """A vocabulary in memory."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._words: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for word, df in counts.items():
            for key in word_keys(word):
                self._words[key].append((word, df))

    @classmethod
    def of_texts(cls, texts: Iterable[str]) -> WordVocabulary:
        """Return the vocabulary of some texts, each a chunk."""
        return cls(Counter(form for text in texts for form in vocabulary_forms(text)))

    def candidates(self, key: str) -> Sequence[tuple[str, int]]:
        """Return the words filed under a key, each with the number of texts that hold it."""
        return self._words.get(key, ())


def vocabulary_forms(text: str) -> set[str]:
    """Return the words of a text that a vocabulary holds, each also without its postpositions.

    >>> sorted(vocabulary_forms("नेपालको GDP।"))
    ['नेपाल', 'नेपालको']
    """
    words = set(_WORD.findall(unicodedata.normalize("NFC", text)))
    return {form for word in words for form in bare_forms(word)}


def rough_latin(word: str) -> str:
    """Return how a Devanagari word is spelled in Latin letters by rule; Bangla and Telugu, too.

    >>> rough_latin("विद्यालय"), rough_latin("गर्छ"), rough_latin("नेपाल")
    ('vidyaalay', 'garchha', 'nepaal')
    """
    letters = [_as_devanagari(char) for char in unicodedata.normalize("NFC", word).translate(_UNSPOKEN)]
    return "".join(_letter(letters, i) for i in range(len(letters)))


def _as_devanagari(char: str) -> str:
    """Return the Devanagari letter in the place of another Indic block's: the blocks are in one order."""
    code = ord(char)
    return chr(0x900 + code % 0x80) if code & -0x80 in _INDIC else char


def _letter(letters: list[str], i: int) -> str:
    """Return the Latin letters of one character among its neighbours."""
    char, after = letters[i], letters[i + 1] if i + 1 < len(letters) else ""
    if char in CONSONANTS:
        silent = after == _VIRAMA or after in VOWEL_SIGNS
        final = not after and i > 0 and letters[i - 1] != _VIRAMA  # the last inherent vowel is not spoken
        return CONSONANTS[char] + ("" if silent or final else "a")
    if char in (_ANUSVARA, _CHANDRABINDU):
        return "m" if char == _ANUSVARA and after and after in "पफबभमव" else "n"
    if char == _VISARGA:
        return "h"
    return VOWELS.get(char) or VOWEL_SIGNS.get(char) or ""


_SOUNDS = tuple(
    (re.compile(pattern), sound)
    for pattern, sound in (("chh?", "c"), ("ph", "p"), ("ee", "i"), ("oo", "u"), ("([tdbkgjs])h", r"\1"))
)
_SAME_SOUND = str.maketrans("vwfzq", "bbpjk")
_NASAL = re.compile("m(?=[pb])")
_DOUBLED = re.compile(r"(.)\1+")
_UNKEYED = str.maketrans("", "", "aeiouyh")


class _Sound(NamedTuple):
    """A spelling with one letter for those that typists use for one sound, and how often it had ``h``."""

    letters: str
    breaths: int

    def like(self, word: _Sound) -> float:
        """Return how alike this token and a word are, from 0 to 1."""
        breaths = self.breaths - word.breaths
        cost = breaths * BREATH_ADDED if breaths > 0 else -breaths * BREATH_MISSED
        return max(0.0, JaroWinkler.similarity(self.letters, word.letters) - cost)

    @property
    def key(self) -> str:
        first = "a" if self.letters[:1] in set("aeiou") else self.letters[:1]
        return first + self.letters[1:].translate(_UNKEYED)


def _sound(latin: str) -> _Sound:
    latin = latin.replace("x", "chh")
    letters = latin
    for pattern, sound in _SOUNDS:
        letters = pattern.sub(sound, letters)
    return _Sound(_DOUBLED.sub(r"\1", _NASAL.sub("n", letters.translate(_SAME_SOUND))), latin.count("h"))


def phonetic_key(latin: str) -> str:
    """Return what every way of typing a word has in common.

    Aspirates drop, ``b = v = w``, ``s = sh``, ``ch = chh = x``, double letters are one; vowels, ``y`` and
    ``h`` drop after the first letter, and a vowel that begins a word is ``a``.

    >>> phonetic_key("bidhyalaya") == phonetic_key(rough_latin("विद्यालय")), phonetic_key("aaja")
    (True, 'aj')
    """
    return _sound(latin).key


@lru_cache(maxsize=200_000)
def _spoken(word: str) -> tuple[_Sound, ...]:
    """Return how a word sounds: by rule, and as typists also have it."""
    spellings = [word, *(word.replace(letters, typed) for letters, typed in _TYPED_ALSO if letters in word)]
    return tuple(dict.fromkeys(_sound(latin) for latin in map(rough_latin, spellings) if latin))


def word_keys(word: str) -> tuple[str, ...]:
    """Return the keys that a word is filed under: one, rarely more.

    >>> word_keys("ज्ञान")
    ('jnn', 'gn')
    """
    return tuple(dict.fromkeys(sound.key for sound in _spoken(word)))


def similarity(token: str, latin: str) -> float:
    """Return how alike a typed token and a rough spelling sound, from 0 to 1.

    Jaro-Winkler: beginnings count more than endings, which typists shorten.
    """
    return _sound(token).like(_sound(latin))


def reading(query: str, vocabulary: Vocabulary, analyzer: AnalyzerOptions = ALL) -> Romanized:
    """Return a question in Latin letters as Nepali.

    Devanagari in it, numbers and what no word of the vocabulary sounds like stay as they are. Terms are those
    of the index that the vocabulary is of: ``analyzer`` is its.

    >>> reading("pani ko bill", WordVocabulary({"पानी": 3, "पनि": 1, "को": 9})).text
    'पानी को bill'
    """
    tokens: list[TokenReading] = []

    def read(match: regex.Match[str]) -> str:
        tokens.append(_read(match[0], vocabulary, analyzer))
        return tokens[-1].word or str(match[0])

    text = _TOKEN.sub(read, query)
    others = weighted_terms(_TOKEN.sub(" ", query), analyzer)
    options = (option for token in tokens for option in (*token.options, _own(token.token, analyzer)))
    terms = dict(others)
    for term, weight in (pair for option in options for pair in option.items()):
        terms[term] = max(terms.get(term, 0.0), weight)
    return Romanized(text, terms, tuple(tokens), others)


def _own(token: str, analyzer: AnalyzerOptions) -> dict[str, float]:
    """Return what finds a token as it is typed: English words and names, where passages have them so.

    Not their pieces: in a Nepali collection those meet foreign names at random.
    """
    return dict.fromkeys(analyze(token, analyzer), _weight(token))


def _weight(token: str) -> float:
    return FUNCTION_WEIGHT if is_function_word(token.lower()) else 1.0


def _read(token: str, vocabulary: Vocabulary, analyzer: AnalyzerOptions) -> TokenReading:
    """Return what a token may mean: as it is, else without the postposition glued to it."""
    typed = token.lower().replace("6", "chha")
    typed = _SHORT_FORMS.get(typed, typed)
    candidates, ending = _candidates(typed, vocabulary), ""
    glued = _GLUED.search(typed)
    if glued and not _is_read(candidates):
        bare = _candidates(typed[: glued.start()], vocabulary)
        if _is_read(bare):
            candidates, ending = bare, _POSTPOSITIONS[glued[0]]
    word = candidates[0].word + ending if _is_read(candidates) else None
    word = _POSTPOSITIONS.get(
        typed, word
    )  # on its own, it sounds like many other words: bata is बाट, not वटा
    options = _options(candidates, _weight(token), analyzer) or (_own(token, analyzer),)
    return TokenReading(token, word, candidates, options)


def _is_read(candidates: Sequence[Candidate]) -> bool:
    return bool(candidates) and candidates[0].similarity >= MIN_SIMILARITY


def _candidates(typed: str, vocabulary: Vocabulary) -> tuple[Candidate, ...]:
    """Return the words that a typed token may mean, most alike first, then by frequency."""
    alike: dict[tuple[str, int], float] = {}
    for sound in dict.fromkeys((_sound(typed), _sound(_as_english(typed)))):
        for entry in vocabulary.candidates(sound.key):
            found = max([sound.like(spoken) for spoken in _spoken(entry[0])])
            if found > alike.get(entry, 0.0):
                alike[entry] = found
    ranked = nsmallest(MAX_CANDIDATES, ((-found, -df, word) for (word, df), found in alike.items()))
    return tuple(Candidate(word, -found, -df) for found, df, word in ranked)


_ENGLISH_SOUNDS = tuple(
    (re.compile(pattern), sound)
    for pattern, sound in (
        ("[ts]ion", "san"),
        ("c(?=[eiy])", "s"),
        ("ck|cc|c(?!h)", "k"),
        ("qu", "kw"),
        ("x", "ks"),
        ("g(?=[eiy])", "j"),
        ("y(?![aeiou])", "i"),
        ("(?<=[a-z]{2})e$", ""),
    )
)


def _as_english(typed: str) -> str:
    """Return an English word as it would be typed by its sound: action, aksan."""
    for pattern, sound in _ENGLISH_SOUNDS:
        typed = pattern.sub(sound, typed)
    return typed


def _options(
    candidates: Sequence[Candidate], weight: float, analyzer: AnalyzerOptions
) -> tuple[Mapping[str, float], ...]:
    """Return the weighted terms of the first stems among candidates."""
    options: dict[str, Mapping[str, float]] = {}
    for candidate in candidates:
        stem, terms = _terms(candidate.word, analyzer)
        if stem not in options:
            share = weight * candidate.similarity**POWER
            options[stem] = {term: w * share for term, w in terms}
        if len(options) == MAX_STEMS:
            break
    return tuple(options.values())


@lru_cache(maxsize=50_000)
def _terms(word: str, analyzer: AnalyzerOptions) -> tuple[str, tuple[tuple[str, float], ...]]:
    return analyze(word, analyzer)[0], tuple(weighted_terms(word, analyzer).items())
