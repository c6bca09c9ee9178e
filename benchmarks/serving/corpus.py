"""The documents that are searched, the questions, and whether an answer is of one generation alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

N_DOCUMENTS, TURNS = 240, 12
"""With every generation another twelfth of the documents changes."""
REPEATED = 64
"""Different questions, where they repeat."""

_PLACES = [
    "कल्पनापुर",
    "सुनकोशी",
    "नीलगिरि",
    "पञ्चेश्वर",
    "हिमाल",
    "मादीखोला",
    "त्रिवेणी",
    "बाँसबोट",
    "सिमलचौर",
    "धारापानी",
]
_MATTERS = [
    ("सम्पत्ति कर", "असार मसान्तसम्म बुझाउनुपर्छ, ढिलो बुझाएमा दश प्रतिशत जरिवाना लाग्छ"),
    ("खानेपानीको धारा", "शनिबार बिहान मर्मत हुन्छ, त्यस दिन पानी साँझमा मात्र आउँछ"),
    ("विद्यालय भर्ना", "वैशाख पन्ध्र गतेबाट सुरु हुन्छ, जन्मदर्ता प्रमाणपत्र ल्याउनुपर्छ"),
    ("खोप कार्यक्रम", "स्वास्थ्य चौकीमा हरेक महिनाको दोस्रो मङ्गलबार चल्छ"),
    ("बीउको अनुदान", "कृषि शाखाबाट साना किसानलाई आधा मूल्यमा दिइन्छ"),
    ("सडक मर्मत", "दसैँअघि सकिन्छ, बाटो दिउँसो दुई घण्टा बन्द रहन्छ"),
    ("नागरिकता सिफारिस", "वडा कार्यालयबाट बाबु वा आमाको प्रमाणपत्रका आधारमा पाइन्छ"),
    ("ज्येष्ठ नागरिक भत्ता", "बैंक खातामा चौमासिक रूपमा जम्मा हुन्छ"),
]
_ASKED = ["कहिले हुन्छ?", "कसरी पाइन्छ?", "कहाँ जानुपर्छ?", "के के चाहिन्छ?"]
_HIT = re.compile(r'पुस्ता ([0-9]+)।\\?n?","source":"([0-9]+)\.txt"'.encode())
_GENERATION = re.compile(rb'"generation":([0-9]+)')


def text(document: int, generation: int) -> str:
    """Return a document as it was changed with a generation, whose number it ends with."""
    place = _PLACES[document % len(_PLACES)]
    matter, said = _MATTERS[document // len(_PLACES) % len(_MATTERS)]
    ward = document // (len(_PLACES) * len(_MATTERS)) + 1
    return (
        f"{place} गाउँपालिका, वडा नम्बर {ward}। {matter} सम्बन्धी सूचना। {place}को {matter} {said}। "
        f"थप जानकारीका लागि वडा कार्यालयको सूचना अधिकृतलाई कार्यालय समयमा सम्पर्क गर्नुहोला। पुस्ता {generation}।"
    )


def changed(generation: int) -> list[int]:
    """Return the documents that change with a generation."""
    return [one for one in range(N_DOCUMENTS) if one % TURNS == generation % TURNS]


def expected(document: int, generation: int) -> int:
    """Return with which generation a document was last changed, as a later one shows it; 1 made them all."""
    return max(1, generation - (generation - document) % TURNS)


def questions(start: int, *, repeated: bool) -> Iterator[str]:
    """Yield questions without end, all different or in turns."""
    number = start
    while True:
        one = number % REPEATED if repeated else number
        place, (matter, _) = _PLACES[one % len(_PLACES)], _MATTERS[one // 3 % len(_MATTERS)]
        yield f"{place} {one} नम्बर घरधनीको {matter} {_ASKED[one % len(_ASKED)]}"
        number += 1


def is_of_one_generation(body: bytes) -> bool:
    """Say whether an answer has hits, and all of them are as the generation that it names has them."""
    named = _GENERATION.search(body)
    found = _HIT.findall(body)
    if named is None or not found or len(found) != body.count(b'"rank":'):
        return False
    return all(int(said) == expected(int(document), int(named[1])) for said, document in found)
