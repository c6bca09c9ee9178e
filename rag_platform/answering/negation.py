"""Words that deny, in Nepali, English and romanized Nepali: verb forms, particles, and what excludes.

By spelling alone; which claim a denial touches is ``support``'s to say.
"""

from __future__ import annotations

from functools import lru_cache

import regex

from rag_platform.text.normalize import search_key
from rag_platform.text.words import is_word

__all__ = ["ANY", "denied"]

ANY = ""
"""What a denial denies where its spelling does not tell."""


def _keys(words: str) -> frozenset[str]:
    return frozenset(map(search_key, words.split()))


_ALONE = _keys(
    "छैन छैनन् छैनौं छैनौँ छैनस् छैनु होइन होइनन् हैन हैनन् हुँदैन हुँदैनन् हुन्न हुन्नन् थिएन थिएनन् थिइन भएन भएनन्"
    " बिना विना नभई नभइ न बाहेक वर्जित"
    " not no never none neither nor cannot without unless except nobody nothing nowhere"
    " chaina chhaina chainan hudaina hundaina hunna hoina haina thiena bhayena bina"
)
_EXCEPT = regex.compile(r".{3,}(?:बाहेक|[बव]िना)")
_ENDING = regex.compile(r"(?P<stem>.{2,}?)(?:नेछैन(?:न्)?|ं?दैन(?:न्|ौं|स्)?)")
_PAST = regex.compile(r"(?P<stem>.+[एे])न(?:न्|ौं)?")
_PREFIX = regex.compile(
    r"न(?P<stem>[क-हअ-औ].*(?:ने(?:लाई|ले|का|को)?|[एे](?:को|का|की|कोले|काले|मा|र)?|ी|ई|इ|दा|दै|नु|न|ओस्|ोस्|नुस्|होला))"
)
_NOT_DENYING = _keys(
    "नदी नली नगदी नजरे नवमी नब्बे नरी नरे नरेन नवीन नबिन नविन नकर्मी नपने नमस्ते नक्कली नगरे नकली नसे नवोदय नमुने"
    " ट्रेन स्पेन ब्रेन क्रेन प्लेन लेन सेन मेन रेन टेन हेन बेन केन पेन येन जेन देन युक्रेन अक्सिजेन हाइड्रोजेन"
    " नाइट्रोजेन सम्मेलन सम्मलेन"
)
_ITEM = regex.compile(r"[^\S\n]*\.?[^\S\n]*\d")


def denied(word: str, following: str = "") -> str | None:
    """Return what a word denies: the rest of a verb, or ``ANY``; None where it denies nothing.

    Args:
        word: As it stands in the text.
        following: What stands after it: ``No. 4`` denies nothing.

    >>> denied("पाउँदैन"), denied("नतिर्ने"), denied("छैन"), denied("नगरपालिका"), denied("ट्रेन")
    ('पाउ', 'तिर्ने', '', None, None)
    """
    if word.lower() == "no" and _ITEM.match(following):
        return None
    return _denied(word)


@lru_cache(maxsize=50_000)
def _denied(word: str) -> str | None:
    key = search_key(word)
    if key in _ALONE or key.endswith(("n't", "n’t")) or _EXCEPT.fullmatch(key):
        return ANY
    if key.isascii() or key in _NOT_DENYING or key.endswith("दिन"):
        return None
    for rule in (_ENDING, _PAST, _PREFIX):
        found = rule.fullmatch(key)
        if found and (rule is _ENDING or is_word(found["stem"])):
            return str(found["stem"])
    return None
