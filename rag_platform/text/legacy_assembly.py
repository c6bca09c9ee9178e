"""From the glyphs of a legacy font, in the order they are drawn, to Devanagari in the order it is written.

Pieces in, text out. Which code draws which piece is in ``legacy_tables``; whether a text is legacy at all
is decided in ``legacy_fonts``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from rag_platform.text.legacy_tables import AA_OR_NASAL, LEGACY_FONTS, REPH, TAIL

__all__ = ["assemble", "convert_word", "keys_of"]

_HALANT, _AA, _SHORT_I, _ZWJ = "\u094d", "\u093e", "\u093f", "\u200d"
_CHANDRABINDU, _VOCALIC_R = "\u0901", "\u0943"
_VOWEL_SIGNS = frozenset("\u093e\u093f\u0940\u0941\u0942\u0943\u0945\u0947\u0948")
_SIGNS = "".join(sorted(_VOWEL_SIGNS)) + "\u0902\u0901\u0903"
"""Signs in the order in which they are written on one syllable."""

_VOWELS = frozenset("अइउऊऋए")
_LETTERS = _VOWELS | frozenset(map(chr, range(0x915, 0x93A)))
_LEADING_LETTERS = re.compile(f"[{''.join(sorted(_LETTERS))}{_HALANT}{_ZWJ}]*")

# What the right arm completes; a rakar or a halant of the syllable stays.
_TAILED = {"त्त": "क्त", "त्र": "क्र", "प": "फ", "भ": "झ", "व": "क", "उ": "ऊ"}
_TAIL_SEAT = re.compile(f"({'|'.join(_TAILED)})((?:{_HALANT}र)?{_HALANT}?)$")

_MAX_LETTERS = 24

# Two signs, sorted, that stand for one; then letters that have the sign in them.
_JOINED = (
    ("\u093e\u0947", "\u094b"),
    ("\u093e\u0948", "\u094c"),
    ("\u093e\u0945", "\u0949"),
    ("अ\u093e", "आ"),
    ("अ\u094b", "ओ"),
    ("अ\u094c", "औ"),
    ("अ\u0949", "ऑ"),
    ("ए\u0947", "ऐ"),
)

# Typed over one another by mistake, these look like one: a sign under another, or part of the letter.
_HIDDEN_BY: dict[str, set[str]] = {"\u0902": {"\u0901"}, "\u0947": {"\u0948"}, "ऋ": {"\u0943"}}

# One glyph is visarga and colon. A visarga stands inside words and at the end of these.
_VISARGA_WORDS = frozenset(
    f"{word}\u0903"
    for word in """
    छ अत अन्तत अंशत क्रमश अक्षरश बहुश पुन प्राय प्रात नम स्वत स्वभावत शनै वस्तुत मूलत मुख्यत विशेषत सामान्यत साधारणत
    पूर्णत सम्भवत निश्चितत सिद्धान्तत प्रत्यक्षत स्पष्टत कानुनत अनिवार्यत यथार्थत फलत
    """.split()  # noqa: SIM905  # a list of words reads better
)
_VISARGA = re.compile(
    "([\u0904-\u0939\u093e-\u094d\u0901\u0902\u200d]{0,20})\u0903(?![\u0904-\u0939])(?=(\\s*[-–—])?)"
)

# द्ध and द्घ look alike in these fonts: उद्घाटन and उद्घोष are typed with the key of the first.
_UDGHA = re.compile("उद्ध(?=ाट|ोष)")


def _windows(code: int) -> str:
    return bytes([code]).decode("cp1252", "ignore") or chr(code)


_TYPED_FOR = str.maketrans(
    {
        **{
            chr(0xF000 + code): bytes([code]).decode("cp1252", "ignore") or chr(code)
            for code in range(0x20, 0x100)
        },
        **{chr(code): _windows(code) for code in range(0x80, 0xA0)},
        "\u00ad": "-",
        "\u2010": "-",
        "\u2011": "-",
        "ﬀ": "ff",
        "ﬁ": "fi",
        "ﬂ": "fl",
        "ﬃ": "ffi",
        "ﬄ": "ffl",
    }
)
"""What programs put in place of a font's code: characters of symbol fonts and of Latin-1, ligatures."""

_CURLED = {"’": "'", "‘": "'", "”": '"', "“": '"'}


@dataclass(slots=True)
class _Syllable:
    """One syllable as drawn: its letters, the signs around them, and whether a reph stands above the end."""

    letters: str = ""
    signs: list[str] = field(default_factory=list)
    reph: bool = False

    @property
    def is_half(self) -> bool:
        return self.letters.endswith((_HALANT, _HALANT + _ZWJ))

    @property
    def is_full(self) -> bool:
        """Whether it has more letters than any syllable: its codes are no text."""
        return len(self.letters) > _MAX_LETTERS

    @property
    def has_vowel(self) -> bool:
        return self.letters in _VOWELS or not _VOWEL_SIGNS.isdisjoint(self.signs)

    def written(self) -> str:
        """Return the syllable as Unicode orders it: reph, letters, vowel signs, nasal, visarga."""
        letters, reph = self.letters, self.reph
        if letters == "इ" and reph:
            letters, reph = "ई", False
        signs = sorted(set(self.signs) - _HIDDEN_BY.get(letters, set()), key=_SIGNS.index)
        signs = [sign for sign in signs if _HIDDEN_BY.get(sign, set()).isdisjoint(signs)]
        if signs and signs[0] in _VOWEL_SIGNS:
            letters = letters.removesuffix(_HALANT)
        text = letters + "".join(signs)
        for drawn, meant in _JOINED:
            text = text.replace(drawn, meant)
        return f"र{_HALANT}{text}" if reph else text


def keys_of(text: str) -> str:
    """Return a text as the codes its font was given, where a program put other characters in their place.

    >>> keys_of("\uf067\uf05d\uf06b\uf066\uf06e")
    'g]kfn'
    """
    return text.translate(_TYPED_FOR)


@lru_cache(maxsize=100_000)
def convert_word(word: str, family: str) -> str:
    """Return what a word of codes shows in a font of the family; a code without a glyph stays.

    >>> convert_word("k|ltlglw", "preeti"), convert_word("sfof{no", "preeti")
    ('प्रतिनिधि', 'कार्यालय')
    """
    glyphs = LEGACY_FONTS[family].glyphs
    keys = keys_of(word)
    text = assemble(_piece(keys, i, glyphs) for i in range(len(keys)))
    return text.replace(REPH, "{").replace(TAIL, "m") if REPH in text or TAIL in text else text


def _piece(keys: str, i: int, glyphs: Mapping[str, str]) -> str:
    """Return what the code at ``i`` shows; a curled quote inside a word is the sign of its key."""
    key = keys[i]
    if key in _CURLED and (i == 0 or key not in glyphs):
        neighbours = keys[i - 1 : i] + keys[i + 1 : i + 2]
        is_inside = len(neighbours) == 2 and all(glyphs.get(code, "-") > "\u0900" for code in neighbours)
        return glyphs[_CURLED[key]] if is_inside else key
    return glyphs.get(key, key)


def assemble(pieces: Iterable[str]) -> str:
    """Return the text that pieces show, which stand in the order in which they are drawn.

    Markers (``REPH``, ``TAIL``) that have no letter to join stay in the text.

    >>> assemble(["ि", "स्", "थ", "ि", "त"])
    'स्थिति'
    """
    line = _Line()
    for piece in pieces:
        line.add(piece)
    line.close()
    text = _VISARGA.sub(_visarga_or_colon, "".join(line.closed))
    return _UDGHA.sub("उद्घ", text)


class _Line:
    """Syllables in the making: pieces are added, closed ones are text."""

    def __init__(self) -> None:
        self.closed: list[str] = []
        self._now: _Syllable | None = None

    def close(self) -> None:
        if self._now is not None:
            self.closed.append(self._now.written())
            self._now = None

    def add(self, piece: str) -> None:
        if piece == _SHORT_I:
            self._add_short_i()
        elif piece[:1] in _LETTERS:
            letters = _LEADING_LETTERS.match(piece)[0]  # type: ignore[index]  # matches any string
            self._add_letters(letters)
            for sign in piece[len(letters) :]:
                self._add_sign(sign)
        elif self._now is None or not self._join(piece):
            self.close()
            self.closed.append(piece)

    def _add_short_i(self) -> None:
        """The sign is drawn before its syllable, or by habit right before the last letter of a cluster."""
        if self._now is None or not self._now.is_half:
            self.close()
            self._now = _Syllable()
        self._now.signs.append(_SHORT_I)

    def _add_letters(self, letters: str) -> None:
        now = self._now
        if now is None or (now.letters and (not now.is_half or letters in _VOWELS or now.is_full)):
            self.close()
            self._now = now = _Syllable()
        now.letters += letters

    def _join(self, piece: str) -> bool:
        """Add what is drawn onto the last syllable; False where it cannot stand there."""
        now = self._now
        assert now is not None
        if piece == REPH and now.letters:
            now.reph = True
        elif piece == TAIL and _TAIL_SEAT.search(now.letters):
            now.letters = _TAIL_SEAT.sub(lambda seat: _TAILED[seat[1]] + seat[2], now.letters)
        elif piece.startswith(_HALANT) and now.letters:
            bare, half = (now.letters[:-1], _HALANT) if now.letters[-1] == _HALANT else (now.letters, "")
            now.letters = bare + piece + ("" if piece == _HALANT else half)
        elif piece == AA_OR_NASAL or piece in _SIGNS:
            self._add_sign(piece)
        else:
            return False
        return True

    def _add_sign(self, sign: str) -> None:
        now = self._now
        assert now is not None
        if sign == AA_OR_NASAL:
            sign = _CHANDRABINDU if now.has_vowel else _AA
        if sign == _AA and now.letters.endswith(_HALANT):
            now.letters = now.letters.removesuffix(_HALANT)  # the stem that a half letter lacks
        elif sign == _VOCALIC_R and now.letters.endswith("ट"):
            now.letters += f"{_HALANT}ट"  # टृ is in no word: typists draw the lower ट with this sign
        else:
            now.signs.append(sign)


def _visarga_or_colon(match: re.Match[str]) -> str:
    word, has_dash = match[1], match[2]
    is_visarga = word + "\u0903" in _VISARGA_WORDS and not has_dash
    return word + ("\u0903" if is_visarga else ":")
