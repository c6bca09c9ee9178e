"""What kind of thing a question asks for, as far as its words tell, and whether a sentence has one of it.

To "how many metres" no sentence without metres is an answer. Rules on words, in Nepali, romanized Nepali and
English; generous on what has one, since a missed answer costs more than one too many. Nothing is ranked here.
"""

from __future__ import annotations

from dataclasses import dataclass

import regex

__all__ = ["Kind", "asked_kind"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of answer: how it is asked for, and what every answer of it has."""

    name: str
    asks: regex.Pattern[str]
    tells: regex.Pattern[str]

    def is_in(self, text: str) -> bool:
        """Say whether a text has something of this kind."""
        return bool(self.tells.search(text))


def _bare(words: str, *patterns: str) -> str:
    """Return a pattern of Devanagari words: each begins as such, and is not cut out of a longer syllable."""
    return rf"(?<![\p{{L}}\p{{M}}])(?:{'|'.join([*words.split(), *patterns])})(?!\p{{M}})"


_DAY = _bare("आइतबार सोमबार मङ्गलबार मंगलबार बुधबार बिहीबार बिहिबार शुक्रबार शनिबार")
_MONTH = _bare(
    "वैशाख जेठ असार साउन श्रावण भदौ भाद्र असोज आश्विन कात्तिक कार्तिक मङ्सिर मंसिर पुस पौष माघ फागुन फाल्गुन चैत"
    " जनवरी फेब्रुअरी मार्च अप्रिल जुन जुलाई अगस्ट अगस्त सेप्टेम्बर अक्टोबर नोभेम्बर डिसेम्बर"
)
_COUNT = _bare(
    "एक एउटा दुई दुइटा दुवै तीन चार पाँच सात आठ नौ दश दस एघार बाह्र तेह्र चौध पन्ध्र सोह्र सत्र अठार उन्नाइस बीस"
    " पच्चीस तीस चालीस पचास साठी सत्तरी असी नब्बे सय हजार लाख करोड अर्ब आधा डेढ साढे दोब्बर तेब्बर निःशुल्क",
    "छ(?= ?(?:वटा|जना|महिना|वर्ष|दिन|घण्टा|बजे|प्रतिशत))",
)
_IN_ENGLISH = (
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty"
    r"|hundreds?|thousands?|millions?|billions?|half|twice|free)\b"
)
_WHEN = (
    r"(?<![\p{L}\p{M}])मिति|कहिले(?!काह)|कुन (?:दिन|साल|वर्ष|महिना|बार)|\bka[ih]+le\b"
    r"|\bkun (?:din|saal|sal|barsa|mahina)\b|\b(?:what|which) (?:date|year|day|month)\b"
    r"|^when (?:did|do|does|was|were|is|are|will|would|has|have|had|must|should|can|may)\b"
)
_TIME = (
    rf"\p{{N}}{{4}}|{_DAY}|{_MONTH}|\p{{N}} ?(?:गते|औ|औं|औँ|तारिख)|बजे|शताब्दी|दशक|हिजो|आज|भोलि|गत |अघि|पछि"
    r"|बिहान|साँझ|राति|मध्यरात|century|centuries|decade|noon|midnight|yesterday|today|tomorrow|\bago\b|\blater\b"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|\bmay\b|june|july|august"
    r"|september|october|november|december"
)
_LENGTHS = "मिटर|किलोमिटर|किमी|माइल|फिट|meter|metre|kilometer|kilometre|km|mile|feet"
_SPANS = "वर्ष|बर्ष|साल|महिना|दिन|हप्ता|घण्टा|मिनेट|समय|barsa|sal|saal|mahina|din|hapta|ghanta|minute|samaya"

_KINDS = tuple(
    Kind(name, regex.compile(asks, regex.I), regex.compile(tells, regex.I))
    for name, asks, tells in (
        (
            "time of day",
            r"कति बजे|\bkati baje\b|\bwhat time\b",
            r"बजे|\p{N}:\p{N}{2}|बिहान|साँझ|दिउँसो|राति|मध्यरात|o'clock|\b[ap]\.?m\b|noon|midnight",
        ),
        ("date", _WHEN, _TIME),
        ("dollars", r"(?:कति|\bkati) (?:डलर|dollar)|\bhow many dollars\b", r"डलर|dollar|\$|usd"),
        (
            "percentage",
            r"कति प्रतिशत|\bkati (?:pratishat|percent)\b|\b(?:what|how many) percent",
            r"प्रतिशत|percent|per cent|%",
        ),
        (
            "length",
            rf"(?:कति|\bkati) (?:{_LENGTHS})|\bhow (?:far|tall|high|many (?:{_LENGTHS}))",
            r"मिटर|किमी|कि\.मी|माइल|फिट|फुट|इन्च|मि\.|\b(?:k?m|ft|feet|foot|(?:kilo)?met(?:er|re)s?|miles?|inch)",
        ),
        (
            "temperature",
            r"(?:कति|\bkati) (?:डिग्री|degree)|\bhow (?:hot|cold)\b",
            r"डिग्री|सेल्सियस|फरेनहाइट|°|degree|celsius",
        ),
        (
            "weight",
            r"(?:कति|\bkati) (?:किलो|ग्राम|टन|kilo|kg|ton)|\bhow heavy\b",
            r"किलो|ग्राम|टन|पाउन्ड|\bkg|kilo|gram|\bton|pound",
        ),
        (
            "span of time",
            rf"(?:कति|\bkati) (?:{_SPANS})|\bhow (?:long|old|many (?:year|month|day|week|hour|minute))",
            r"वर्ष|बर्ष|साल|महिना|दिन|हप्ता|साता|घण्टा|मिनेट|सेकेन्ड|शताब्दी|दशक|\p{N}{4}"
            r"|year|month|day|week|hour|minute|decade|century",
        ),
        (
            "number",
            r"कति(?!खेर|सम्म|पय|ञ्जेल|को)|\bkati\b(?! samma)|\bhow (?:many|much)\b|जनसङ्ख्या|\bpopulation\b",
            rf"\p{{N}}|{_COUNT}|{_IN_ENGLISH}",
        ),
    )
)
"""The first that is asked for counts: ``कति बजे`` is no number but a time."""


def asked_kind(question: str) -> Kind | None:
    """Return what kind of thing a question asks for, None where its words do not tell.

    >>> asked_kind("झरना कति मिटर अग्लो छ?").name, asked_kind("When was the school built?").name
    ('length', 'date')
    >>> asked_kind("अध्यक्ष को हो?") is None, asked_kind("When it rains, who opens the gate?") is None
    (True, True)
    """
    return next((kind for kind in _KINDS if kind.asks.search(question)), None)
