"""What a text refers to: acts by their titles, and their sections by number, in both digit systems.

Where a section itself begins is the outline's to say (``chunking.structure``); dates stand in ``dates``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import regex

from rag_platform.text.dates import ascii_digits
from rag_platform.text.normalize import search_key

__all__ = ["act_title", "find_acts", "find_sections", "section_number", "value_key"]

_NUMBER = r"(?P<n>\d{1,3}(?:[क-ह](?![\p{L}\p{M}])|[A-Z](?!\p{L}))?)(?!\d|[.]\d|\s?[/।-]\s?\d)"
_COUNTED = r"(?!\s*(?:जना|दिन|महिना|वर्ष|बर्ष|प्रतिशत|हजार|लाख|रुपैयाँ|%|days?\b|months?\b|years?\b|per\s?cent))"
_SECTIONS = regex.compile(
    rf"(?:(?<![\p{{L}}\p{{M}}])(?:दफा|धारा|नियम)|\b(?:[Ss]ections?|SECTION|[Aa]rticles?|ARTICLE|[Rr]ules?|[Ss]ec\.))"
    rf"\s*[-–:ः]?\s*{_NUMBER}(?:(?:\s*,\s*|\s+(?:र|वा|तथा|एवं|देखि|and|or|to)\s+){_NUMBER}{_COUNTED})*"
)
_SECTION = regex.compile(
    r"(?:(?:दफा|धारा|नियम|[Ss]ection|[Aa]rticle|[Rr]ule)\s*)?(?P<n>\d{1,4})\s?(?P<letter>[क-ह]|[A-Za-z])?"
)

_KIND = r"(?:ऐन|नियमावली|नियमहर[ुू]|विनियमावली|संहिता|अध्यादेश|विधेयक|कार्यविधि|निर्देशिका|मापदण्ड|संविधान)"
_YEAR = r"(?P<year>(?:19|20|21)\d\d)(?!\d|\s?[/।.-]\s?\d)"
_ACT = regex.compile(rf"(?<![\p{{L}}\p{{M}}])(?P<kind>{_KIND}),?\s?{_YEAR}")
_CONSTITUTION = regex.compile(
    r"(?<![\p{L}\p{M}])(?P<title>नेपालको\s+संविधान)(?:को|का|मा|ले|लाई)?(?!,?\s?\d|[\p{L}\p{M}--ः])", regex.V1
)
_ENGLISH_ACT = regex.compile(
    r"(?P<title>\b[A-Z][\w'’-]*(?:\s(?:[A-Z][\w'’-]*|of|and|the|on|for|to|in|\([A-Z][^()]{1,60}\)),?){0,12}?"
    rf"\s(?:Act|Rules|Regulations?|Code|Ordinance|Bill)),?\s{_YEAR}"
)
_LONGEST = 120
"""Characters of a title that are looked at before its last word."""
_BREAK = re.compile(r"[।,;:“”\"‘’'–—|./A-Za-z\d०-९]")
_LIST_MARK = re.compile(r"^\([^()]*\)\s*")
_NOT_TITLE = regex.compile(
    r"(?!बीमा|सीमा).*(?:ले|लाई|बाट|को|मा|सँग|बमोजिम)|गर्न|यो|यस|त्यस|उक्त|सो|प्रचलित|तत्कालीन|मूल|अनुसार|अन्तर्गत|तर|वा|भन्ने|नाम|नामक"
)
"""Words that are not part of the title after them; inside parentheses anything is."""
_JOINS = {"र", "तथा", "एवं", "एवम्", "वा"}
_TITLE_LINE = regex.compile(
    rf"(?P<title>\p{{Devanagari}}[\p{{Devanagari}}\s(),-]*?{_KIND}),?\s?{_YEAR}\s*[।.]?"
)

_PUNCTUATION = re.compile(r"[\s,;:।\"'“”‘’]+")


def value_key(text: str) -> str:
    """Return what a word of a field is compared by: the search key without punctuation.

    >>> value_key("श्रम ऐन, २०७४") == value_key("श्रम ऐन २०७४") == value_key("श्रम  ऐन, 2074")
    True
    """
    return _PUNCTUATION.sub(" ", search_key(text)).strip()


def find_sections(text: str) -> Iterator[str]:
    """Yield the numbers of sections, articles and rules that a text names, with ASCII digits.

    >>> list(find_sections("दफा ९क र १० बमोजिम, section 12A, उपदफा (२)"))
    ['9क', '10', '12A']
    """
    for match in _SECTIONS.finditer(ascii_digits(text)):
        yield from match.captures("n")


def section_number(text: str) -> str | None:
    """Return a section's number as it is stored, None for what is none.

    >>> section_number("दफा ९ क"), section_number("9क"), section_number("नौ")
    ('9क', '9क', None)
    """
    match = _SECTION.fullmatch(ascii_digits(text.strip()))
    return None if match is None else match["n"] + (match["letter"] or "").upper()


def find_acts(text: str) -> Iterator[str]:
    """Yield the titles of acts, rules and codes that a text names with their years, as the text spells them.

    A title begins after the sentence, the quotation mark or the case ending before it.

    >>> list(find_acts("निजामती सेवा ऐन, २०४९ को दफा ७५ ले र यस श्रम ऐन २०७४ बमोजिम"))
    ['निजामती सेवा ऐन, २०४९', 'श्रम ऐन, २०७४']
    """
    plain = ascii_digits(text)
    for match in _ACT.finditer(plain):
        head = _words_before(text[max(0, match.start() - _LONGEST) : match.start()])
        if head:
            yield f"{head} {match['kind']}, {text[match.start('year') : match.end('year')]}"
    for match in _CONSTITUTION.finditer(plain):
        yield " ".join(match["title"].split())
    for match in _ENGLISH_ACT.finditer(plain):
        yield f"{match['title'].removeprefix('The ').removeprefix('the ')}, {match['year']}"


def act_title(line: str) -> str | None:
    """Return the title of an act that a whole line is, None for any other line.

    >>> act_title("व्यक्तिको गोपनीयता सम्बन्धी ऐन, २०७५"), act_title("श्रम ऐन, २०७४ बमोजिम")
    ('व्यक्तिको गोपनीयता सम्बन्धी ऐन, २०७५', None)
    """
    line = " ".join(line.split()).strip("#*_ ")
    plain = ascii_digits(line)
    match = _TITLE_LINE.fullmatch(plain) or _ENGLISH_ACT.match(plain)
    if match is not None and match.end("year") >= len(plain.rstrip(" ।.)")) - len(" (2074"):
        year = line[match.start("year") : match.end("year")]
        return f"{line[match.start('title') : match.end('title')].removeprefix('The ')}, {year}"
    return line if plain == "नेपालको संविधान" else None


def _words_before(text: str) -> str:
    """Return the words at the end of a text that belong to a title."""
    words: list[str] = []
    depth = 0
    for word in reversed(text.rpartition("\n")[2].split(" ")):
        depth += word.count(")") - word.count("(")
        if depth < 0 or (depth == 0 and "(" not in word and _NOT_TITLE.fullmatch(word)):
            break
        cut = 0 if depth or "(" in word else max((m.end() for m in _BREAK.finditer(word)), default=0)
        words.insert(0, word[cut:])
        if cut:
            break
    while words and (words[0] in _JOINS or not words[0]):
        words.pop(0)
    return _LIST_MARK.sub("", " ".join(word for word in words if word))
