"""True sentences of our own texts, and two hundred that were made false by rule, each of a named kind."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import regex

from rag_platform.text.segment import sentences
from rag_platform.types import Chunk, Hit, chunk_id, document_id

KINDS = ("altered number", "spliced quote", "wrong marker", "other page", "negation")
EACH = 40
_SHA = "0" * 64

PAGES: dict[str, list[str]] = {
    "अध्यादेश, २०८२ [संशोधन].pdf": [
        "यो अध्यादेशलाई सवारी साधन दर्ता अध्यादेश भनिन्छ। सवारी धनीले खरिद गरेको पैँतीस दिनभित्र सवारी "
        "साधन दर्ता गर्नुपर्छ। मोटरसाइकल दर्ता गर्न २,५०० रुपैयाँ शुल्क लाग्छ। चार पाङ्ग्रे सवारीको "
        "दर्ता शुल्क १२,००० रुपैयाँ छ। दर्ता प्रमाणपत्रको अवधि एक वर्षको हुन्छ। नवीकरण नगर्ने धनीलाई "
        "शुल्कको ५० प्रतिशत जरिवाना लाग्छ। बीस वर्ष नाघेका सार्वजनिक सवारी चलाउन पाइँदैन। विद्युतीय "
        "सवारीलाई पहिलो ३ वर्ष कर छुट दिइन्छ।",
        "चालक अनुमतिपत्र लिन कम्तीमा १८ वर्ष उमेर पुगेको हुनुपर्छ। लिखित परीक्षामा १० वटा प्रश्न "
        "सोधिन्छ। प्रयोगात्मक परीक्षा सोमबार र बुधबार हुन्छ। अनुमतिपत्रको दस्तुर १,५०० रुपैयाँ छ। "
        "परीक्षामा असफल हुने व्यक्तिले नब्बे दिनपछि मात्र फेरि परीक्षा दिन पाउँछ। अनुमतिपत्र पाँच "
        "वर्षसम्म मान्य हुन्छ। कार्यालय बिहान १० बजे खुल्छ।",
    ],
    "खानेपानी (समिति) निर्णय.docx": [
        "झरनाटोल खानेपानी उपभोक्ता समितिको बैठक २०८१ फागुन १२ गते बस्यो। बैठकमा ४७ जना सदस्य उपस्थित "
        "थिए। अध्यक्षमा दिलमाया तामाङ छानिनुभयो। मासिक महसुल १०० रुपैयाँबाट १३५ रुपैयाँ पुर्\u200dयाइयो। नयाँ "
        "धारा जडान गर्न ४,५०० रुपैयाँ बुझाउनुपर्छ। पानीको मुहान गाउँभन्दा ३ किलोमिटर माथि पर्छ। "
        "ट्याङ्कीको क्षमता ६०,००० लिटर छ।",
        "महसुल प्रत्येक महिनाको ७ गतेभित्र बुझाउनुपर्छ। ढिलो बुझाउनेलाई मासिक ५ प्रतिशत जरिवाना लाग्छ। "
        "तीन महिनासम्म महसुल नबुझाए धारा काटिन्छ। विद्यालय र स्वास्थ्य चौकीलाई महसुल लाग्दैन। मर्मतका "
        "लागि प्लम्बर हरिबहादुर थापालाई राखिएको छ। पानी बिहान ५ बजेदेखि ७ बजेसम्म आउँछ।",
    ],
    "विद्यालय सूचना; भर्ना {नयाँ}.md": [
        "सरस्वती माध्यमिक विद्यालयमा नयाँ भर्ना वैशाख २ गतेदेखि सुरु हुन्छ। कक्षा एकमा ४० जना विद्यार्थी "
        "लिइनेछ। भर्ना हुन जन्मदर्ताको प्रतिलिपि चाहिन्छ। प्रवेश परीक्षा चैत २५ गते हुनेछ। छात्रवृत्ति "
        "पाउने विद्यार्थीले मासिक शुल्क तिर्नुपर्दैन। विद्यालयमा कम्प्युटर प्रयोगशाला छ। पोसाकको मूल्य "
        "२,२०० रुपैयाँ तोकिएको छ।",
        "विद्यालयको वार्षिकोत्सव माघ ५ गते मनाइनेछ। पुस्तकालयमा ३,६०० वटा पुस्तक छन्। विद्यालयको बस छ "
        "वटा मार्गमा चल्छ। खाजा कोठा दिउँसो १ बजे खुल्छ। प्रधानाध्यापक सीता पौडेल हुनुहुन्छ। कक्षा १२ को "
        "परीक्षा जेठ १५ गतेदेखि सुरु हुन्छ।",
    ],
    "अस्पताल-विवरण_२०८२.html": [
        "मेचीनगर अस्पतालमा ५० शय्या छन्। आकस्मिक सेवा चौबीसै घण्टा खुला रहन्छ। बहिरङ्ग सेवाको टिकट ५० "
        "रुपैयाँ पर्छ। सत्तरी वर्ष नाघेका नागरिकलाई उपचार निःशुल्क छ। एक्स-रे सेवा शनिबार बन्द हुन्छ। "
        "अस्पतालमा ९ जना चिकित्सक कार्यरत छन्।",
        "गर्भवती महिलाले चार पटक जाँच गराउनुपर्छ। सुत्केरी भएपछि यातायात खर्च १,००० रुपैयाँ दिइन्छ। खोप "
        "प्रत्येक महिनाको ९ र २३ गते लगाइन्छ। रगत जाँचको नतिजा दुई घण्टामा आउँछ। एम्बुलेन्सको भाडा "
        "किलोमिटरको ४० रुपैयाँ छ। औषधि पसल अस्पतालभित्रै छ।",
    ],
    "Trekking permits, fees [2025].txt": [
        "A trekking permit for the Kopila valley costs 3,000 rupees. Children under 10 do not need a "
        "permit. The permit is valid for 14 days. Trekkers must register at the Bhirpani check post. A "
        "licensed guide is required above 4,200 metres. The trail is closed in July and August. Drones "
        "are not allowed in the conservation area.",
        "The tea house at Lamatar has 18 beds. A night there costs 700 rupees. Hot showers are available "
        "until 8 pm. The nearest health post is 6 kilometres away. Buses leave Dumre at 7 am every day. "
        "Helicopter rescue is paid for by the trekker. The museum was opened in 1998.",
    ],
    "Library rules & membership.pdf": [
        "Membership of the city library costs 500 rupees a year. A member may borrow 4 books at a time. "
        "Books are lent for 21 days. The fine for a late book is 5 rupees a day. Reference books cannot "
        "be taken home. The library is closed on Saturdays. Students under 16 pay half the fee.",
        "The reading room has 85 seats. Newspapers are kept for 3 months. The children's corner opens at "
        "9 am. Meera Shrestha is the chief librarian. The library owns 27,400 books. Wireless internet "
        "is free for members.",
    ],
}
REWORDED = [  # of which page each is a true saying, in other words or another order
    ("अध्यादेश, २०८२ [संशोधन].pdf", 0, "मोटरसाइकल दर्ता शुल्क २५०० रुपैयाँ लाग्छ।"),
    ("अध्यादेश, २०८२ [संशोधन].pdf", 0, "विद्युतीय सवारीलाई पहिलो 3 वर्ष कर छुट दिइन्छ।"),
    ("अध्यादेश, २०८२ [संशोधन].pdf", 0, "सवारी साधन ३५ दिनभित्र दर्ता गर्नुपर्छ।"),
    ("अध्यादेश, २०८२ [संशोधन].pdf", 1, "चालक अनुमतिपत्र लिन १८ वर्ष पुगेको हुनुपर्छ।"),
    ("अध्यादेश, २०८२ [संशोधन].pdf", 1, "अनुमतिपत्र ५ वर्षसम्म मान्य हुन्छ।"),
    ("खानेपानी (समिति) निर्णय.docx", 0, "बैठकमा ४७ जना उपस्थित थिए।"),
    ("खानेपानी (समिति) निर्णय.docx", 0, "समितिको अध्यक्षमा दिलमाया तामाङ छानिनुभयो।"),
    ("खानेपानी (समिति) निर्णय.docx", 1, "विद्यालयलाई महसुल लाग्दैन।"),
    ("विद्यालय सूचना; भर्ना {नयाँ}.md", 0, "विद्यालयमा भर्ना वैशाख २ गतेदेखि सुरु हुन्छ।"),
    ("विद्यालय सूचना; भर्ना {नयाँ}.md", 1, "पुस्तकालयमा ३६०० पुस्तक छन्।"),
    ("अस्पताल-विवरण_२०८२.html", 0, "अस्पतालमा 50 शय्या छन्।"),
    ("अस्पताल-विवरण_२०८२.html", 1, "खोप महिनाको ९ र २३ गते लगाइन्छ।"),
    ("Trekking permits, fees [2025].txt", 0, "The trekking permit costs 3000 rupees."),
    ("Trekking permits, fees [2025].txt", 1, "The nearest health post is six kilometres away."),
    ("Library rules & membership.pdf", 0, "A member may borrow four books."),
    ("Library rules & membership.pdf", 1, "The chief librarian is Meera Shrestha."),
]
_FLIPPED = [
    (r"लाग्छ।$", "लाग्दैन।"),
    (r"लाग्दैन।$", "लाग्छ।"),
    (r"हुन्छ।$", "हुँदैन।"),
    (r"पाइँदैन।$", "पाइन्छ।"),
    (r"तिर्नुपर्दैन।$", "तिर्नुपर्छ।"),
    (r"नुपर्छ।$", "नुपर्दैन।"),
    (r"पाउँछ।$", "पाउँदैन।"),
    (r"खुल्छ।$", "खुल्दैन।"),
    (r"चल्छ।$", "चल्दैन।"),
    (r"आउँछ।$", "आउँदैन।"),
    (r"चाहिन्छ।$", "चाहिँदैन।"),
    (r"सोधिन्छ।$", "सोधिँदैन।"),
    (r"दिइन्छ।$", "दिइँदैन।"),
    (r"लगाइन्छ।$", "लगाइँदैन।"),
    (r"काटिन्छ।$", "काटिँदैन।"),
    (r"रहन्छ।$", "रहँदैन।"),
    (r" छन्।$", " छैनन्।"),
    (r" छ।$", " छैन।"),
    (r" थिए।$", " थिएनन्।"),
    (r"हुनेछ।$", "हुनेछैन।"),
    (r"\bdo not need\b", "need"),
    (r"\bcannot be\b", "can be"),
    (r"\bare not\b", "are"),
    (r"\bis\b", "is not"),
    (r"\bare\b", "are not"),
    (r"\bmay\b", "may not"),
    (r"\bmust\b", "must not"),
]


@dataclass(frozen=True)
class Said:
    """A sentence with its mark, and what it is."""

    text: str
    kind: str


def hits() -> list[Hit]:
    """Return every page as a hit, in the order of the table."""
    found = []
    for source, pages in PAGES.items():
        key, start = document_id("क", source), 0
        for page, text in enumerate(pages, start=1):
            end = start + len(text)
            chunk = Chunk(
                chunk_id=chunk_id(key, _SHA, "r", start, end),
                document_id=key,
                collection="क",
                source=source,
                content_sha256=_SHA,
                ordinal=page - 1,
                text=text,
                start=start,
                end=end,
                page_first=page,
                page_last=page,
                token_count=100,
                overlap=0,
                kind="text",
                language="ne",
            )
            found.append(Hit(len(found) + 1, 1.0, chunk))
            start = end + 2
    return found


def _all() -> list[tuple[int, str]]:
    """Return each sentence with the number of its page."""
    return [
        (hit.rank, hit.chunk.text[span.start : span.end])
        for hit in hits()
        for span in sentences(hit.chunk.text)
    ]


def marked(sentence: str, number: int) -> str:
    """Return a sentence with a mark before its full stop."""
    return f"{sentence[:-1]} [{number}]{sentence[-1]}"


def true_ones() -> list[Said]:
    """Return what may not be refused: as it stands, with other digits, quoted, in part, in other words."""
    found = []
    to_ascii = str.maketrans("०१२३४५६७८९", "0123456789")
    for number, sentence in _all():
        found.append(Said(marked(sentence, number), "as it stands"))
        if (folded := sentence.translate(to_ascii)) != sentence:
            found.append(Said(marked(folded, number), "other digits"))
        found.append(Said(f"“{sentence[:-1]}” [{number}]{sentence[-1]}", "quoted"))
        if "\u200d" in sentence:
            found.append(Said(marked(sentence.replace("\u200d", ""), number), "without joiners"))
    numbers = {(hit.chunk.source, hit.chunk.page_first - 1): hit.rank for hit in hits()}
    found += [Said(marked(text, numbers[source, page]), "reworded") for source, page, text in REWORDED]
    return found


def false_ones(seed: int = 7) -> list[Said]:
    """Return two hundred fabrications, forty of each kind."""
    chance = random.Random(seed)
    makers = {
        "altered number": _altered,
        "spliced quote": _spliced,
        "wrong marker": _wrong_marker,
        "other page": _other_page,
        "negation": _negated,
    }
    found = []
    for kind in KINDS:
        made = list(dict.fromkeys(makers[kind](chance)))
        found += [Said(text, kind) for text in chance.sample(made, EACH)]
    return found


def _altered(chance: random.Random) -> Iterator[str]:
    for number, sentence in _all():
        for match in regex.finditer(r"[\d,]*\d", sentence):
            at = chance.choice([i for i, char in enumerate(match[0]) if char != ","])
            old = match[0][at]
            zero = "०" if old >= "०" else "0"
            new = chr(ord(zero) + (ord(old) - ord(zero) + chance.randint(1, 8)) % 10)
            if at == 0 and new == zero:
                new = chr(ord(zero) + 9 if old != chr(ord(zero) + 9) else ord(zero) + 8)
            changed = match[0][:at] + new + match[0][at + 1 :]
            yield marked(sentence[: match.start()] + changed + sentence[match.end() :], number)


def _spliced(chance: random.Random) -> Iterator[str]:
    """Yield the beginning of one sentence with the end of another of the same page, quoted or not."""
    everything = _all()
    for number, sentence in everything:
        others = [other for n, other in everything if n == number and other != sentence]
        for other in chance.sample(others, min(2, len(others))):
            words, tail = sentence.split(), other.split()
            if len(words) < 5 or len(tail) < 5:
                continue
            joined = " ".join([*words[: len(words) // 2], *tail[len(tail) // 2 :]])
            yield (
                f"“{joined[:-1]}” [{number}]{joined[-1]}" if chance.random() < 0.5 else marked(joined, number)
            )


def _wrong_marker(chance: random.Random) -> Iterator[str]:
    everything = hits()
    for number, sentence in _all():
        source = everything[number - 1].chunk.source
        wrong = [hit.rank for hit in everything if hit.chunk.source != source] + [len(everything) + 1, 99]
        yield marked(sentence, chance.choice(wrong))


def _other_page(chance: random.Random) -> Iterator[str]:
    everything = hits()
    for number, sentence in _all():
        source = everything[number - 1].chunk.source
        other = next(h.rank for h in everything if h.chunk.source == source and h.rank != number)
        yield marked(sentence, other)


def _negated(chance: random.Random) -> Iterator[str]:
    for number, sentence in _all():
        for pattern, instead in _FLIPPED:
            changed = regex.sub(pattern, instead, sentence, count=1)
            if changed != sentence:
                yield marked(changed, number)
                break
