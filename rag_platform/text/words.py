"""Whether a word is Nepali: the bundled word list, and how many words of a text stand in it.

For judging text (a text layer, OCR, a legacy font's conversion), never for changing it. Letters and spelling
count exactly; only joiners are ignored, and the postpositions glued to a word are taken off.
"""

from __future__ import annotations

import lzma
import unicodedata
from functools import cache, lru_cache
from importlib import resources

import regex

__all__ = ["is_word", "known_share", "word_list", "words"]

_WORD = regex.compile("[\u0900-\u0963\u0971-\u097f\u200c\u200d]+")
_LETTER = regex.compile("[\u0904-\u0939\u0958-\u0961\u0972-\u097f]")
_JOINERS = {0x200C: None, 0x200D: None}
_VISARGA = "\u0903"

_POSTPOSITIONS = (
    "हरू|हरु|ले|लाई|को|का|की|कै|मा|मै|बाट|बाटै|सँग|सँगै|सङ्ग|देखि|सम्म|भित्र|बाहिर|द्वारा|मार्फत|प्रति|तर्फ|पट्टि|सहित"
    "|अनुसार|भर|भरि|पछि|अघि|माथि|मुनि|बीच|बारे|कहाँ|सम्बन्धी|विरुद्ध|बाहेक|झैँ|झैं|जस्तै|मात्र|पनि|नै|समेत|लगायत|सित|तिर"
    "|पूर्वक|अन्तर्गत|बमोजिम|मध्ये|भन्दा|सरह|बापत|वापत|साथ|स्थित|कर्ता|वाला|जन्य|युक्त|योग्य"
)
_ENDING = regex.compile(rf"(?<=..)(?:{_POSTPOSITIONS})$|(?<=.ने)(?:छ|छन्|छैन|छैनन्|छु|छौँ|छौं)$")
_NEGATED = regex.compile("न(?=[\u0904-\u0939].{3})")


def is_word(word: str) -> bool:
    """Return whether a word, its postpositions aside, stands in the word list.

    >>> is_word("संविधानहरूलाई"), is_word("संविधानहरूलार्इ"), is_word("बमोजजम")
    (True, False, False)
    """
    folded = unicodedata.normalize("NFC", word).translate(_JOINERS)
    return _is_known(folded) or (folded.endswith(_VISARGA) and _is_known(folded[:-1]))


def words(text: str) -> list[str]:
    """Return the Devanagari words that say something of a text: those of two characters or more.

    Single letters are labels of clauses, one-letter words and the splinters of broken text alike.

    >>> words("(क) नेपाल र २ जिल्ला")
    ['नेपाल', 'जिल्ला']
    """
    return [word for word in _WORD.findall(text) if len(word.translate(_JOINERS)) > 1]


def known_share(text: str) -> float:
    """Return the share of a text's Devanagari words that are known.

    Range 0 to 1; 0 for a text without such words. Good Nepali text has 0.9 and more, read off a broken
    Unicode map it has less than 0.6.

    >>> known_share("नेपाल सरकारले रावष्टिय योजना ल्याएको छ")
    0.8
    """
    found = words(text)
    return sum(map(is_word, found)) / len(found) if found else 0.0


@lru_cache(maxsize=200_000)
def _is_known(word: str) -> bool:
    known = word_list()
    if not _LETTER.match(word):
        return False
    while word not in known:
        shorter = _ENDING.sub("", word)
        if shorter == word:
            return bool(_NEGATED.match(word)) and word[1:] in known
        word = shorter
    return True


@cache
def word_list() -> frozenset[str]:
    """Return the list of nepali_words.xz and of words_extra.txt."""
    folder = resources.files("rag_platform.text")
    packed = folder.joinpath("nepali_words.xz").read_bytes().partition(b"\n\n")[2]
    found, before = [], ""
    for line in lzma.decompress(packed).decode().split("\n"):
        before = before[: ord(line[0]) - 48] + line[1:]
        found.append(before)
    extra = folder.joinpath("words_extra.txt").read_text(encoding="utf-8").splitlines()
    found += [word for line in extra if not line.startswith("#") for word in line.split()]
    return frozenset(unicodedata.normalize("NFC", word) for word in found)
