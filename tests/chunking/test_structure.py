"""Paths of headings and legal divisions, on an act written for this test."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_platform.chunking.chunkers import chunk_document, load_chunker
from rag_platform.chunking.structure import outline
from rag_platform.chunking.tokenizers import GraphemeTokenizer
from rag_platform.types import Document, Origin, Page, Region

ACT = """सिस्नेखोला गाउँपालिकाको खानेपानी ऐन, २०८१

विषयसूची
भाग १ प्रारम्भिक ........ १
१. संक्षिप्त नाम र प्रारम्भ ........ १
२. परिभाषा ........ १
भाग २ उपभोक्ता समिति ........ २
३. समितिको गठन ........ २
४. समितिको बैठक ........ २
५. महसुल ........ ३

भाग-१
प्रारम्भिक
१. संक्षिप्त नाम र प्रारम्भ: (१) यस ऐनको नाम “खानेपानी ऐन, २०८१” हो।
(२) यो ऐन तुरुन्त प्रारम्भ हुनेछ।
२. परिभाषा: विषय वा प्रसङ्गले अर्को अर्थ नलागेमा यस ऐनमा “धारा” भन्नाले
भाग ३ बमोजिम जडान भएको सार्वजनिक धारा सम्झनु पर्छ।
भाग-२
उपभोक्ता समिति
परिच्छेद - १ समितिको गठन र बैठक
३. समितिको गठन: प्रत्येक मुहानका लागि एउटा समिति रहनेछ। समितिमा देहायका
१. अध्यक्ष एक जना हुनेछ।
२. सचिव एक जना हुनेछ।
४. समितिको बैठक : (१) बैठक महिनामा एक पटक बस्नेछ।
(२) उपदफा
(१) बमोजिमको बैठक अध्यक्षले बोलाउनेछ।
(३) गणपूरक सङ्ख्या चार हुनेछ।
परिच्छेद - २ महसुल
४क. मिटर जडान: प्रत्येक घरमा मिटर जडान गरिनेछ।
५. महसुल: महसुल अनुसूची–१ मा तोकिए बमोजिम हुनेछ।
अनुसूची-१
(दफा ५ सँग सम्बन्धित)
१. घरेलु धाराको महसुल मासिक एक सय रुपैयाँ हुनेछ।
"""


def document(text: str, *regions: Region, origin: Origin = "text_layer") -> Document:
    return Document("ऐन.pdf", "0" * 64, "pdf", (Page(1, text, origin, regions=regions),))


def path_at(text: str, needle: str, *regions: Region) -> str:
    """Return the path of a passage that begins at ``needle``'s last place."""
    start = text.rindex(needle)
    return outline(document(text, *regions)).path(start, start + len(needle))


@pytest.mark.parametrize(
    ("needle", "path"),
    [
        ("सिस्नेखोला", ""),
        ("१. संक्षिप्त नाम र प्रारम्भ ........", ""),
        ("यस ऐनको नाम", "भाग १ > दफा १: संक्षिप्त नाम र प्रारम्भ > उपदफा (१)"),
        ("यो ऐन तुरुन्त", "भाग १ > दफा १: संक्षिप्त नाम र प्रारम्भ > उपदफा (२)"),
        ("सार्वजनिक धारा", "भाग १ > दफा २: परिभाषा"),
        ("उपभोक्ता समिति", "भाग २"),
        ("सचिव एक जना", "भाग २ > परिच्छेद १: समितिको गठन र बैठक > दफा ३: समितिको गठन"),
        ("गणपूरक", "भाग २ > परिच्छेद १: समितिको गठन र बैठक > दफा ४: समितिको बैठक > उपदफा (३)"),
        ("बमोजिमको बैठक", "भाग २ > परिच्छेद १: समितिको गठन र बैठक > दफा ४: समितिको बैठक > उपदफा (२)"),
        ("प्रत्येक घरमा", "भाग २ > परिच्छेद २: महसुल > दफा ४क: मिटर जडान"),
        ("महसुल अनुसूची", "भाग २ > परिच्छेद २: महसुल > दफा ५: महसुल"),
        ("घरेलु धाराको", "अनुसूची १"),
    ],
)
def test_paths_in_an_act(needle: str, path: str) -> None:
    assert path_at(ACT, needle) == path


def test_a_passage_that_begins_with_headings_stands_below_them() -> None:
    assert path_at(ACT, "परिच्छेद - २ महसुल\n४क. मिटर जडान: प्रत्येक") == (
        "भाग २ > परिच्छेद २: महसुल > दफा ४क: मिटर जडान"
    )


def test_named_clauses_leave_numbered_lists_alone() -> None:
    text = (
        "परिच्छेद १: समिति\nदफा ५. गठन: समितिमा देहायका सदस्य रहनेछन्।\n१. अध्यक्ष: एक जना।\n२. सचिव: एक जना।\n"
        "दफा ६. बैठक: महिनामा एक पटक।\nदफा ५ बमोजिमको समितिले काम गर्नेछ।\nदफा ७. कोष: कोष रहनेछ।"
    )
    assert path_at(text, "सचिव") == "परिच्छेद १: समिति > दफा ५: गठन"
    assert path_at(text, "काम गर्नेछ") == "परिच्छेद १: समिति > दफा ६: बैठक"


def test_clauses_are_called_what_the_document_calls_them() -> None:
    text = (
        "कल्पित राज्यको संविधान\nभाग-१\n१. मूल कानून: (१) यो संविधान मूल कानून हो।\n२. राज्य: राज्य एक छ।\n"
        "३. भाषा: (१) सबै भाषा राष्ट्रभाषा हुन्।\n(२) उपधारा (१) मा जे लेखिए पनि हुनेछ।"
    )
    assert path_at(text, "जे लेखिए") == "भाग १ > धारा ३: भाषा > उपधारा (२)"


def test_numbers_on_a_line_of_their_own() -> None:
    text = (
        "मुलुकी देवानी ऐन\n१९.\n\nविशेष व्यवस्था : (१) महिलालाई विशेष व्यवस्था हुनेछ ।\n२०. हक : (१) हक हुनेछ ।\n२१.\n\n"
        "उपचार : उपचार पाइनेछ ।\n४५\n२२.\n\nबमोजिम हुने छ : भनिएको छ ।"
    )
    assert path_at(text, "महिलालाई") == "दफा १९: विशेष व्यवस्था > उपदफा (१)"
    assert path_at(text, "पाइनेछ") == "दफा २१: उपचार"
    assert path_at(text, "भनिएको") == "दफा २१: उपचार"


def test_english_acts() -> None:
    text = (
        "The Drinking Water Act, 2024\nCHAPTER II\n1. Short title: (1) This Act is the Drinking Water Act.\n"
        "(2) It commences at once.\n2. Definitions: In this Act, Part 3 means a part.\n"
        "Section 9 of the old Act applies.\n3. Meters: Every house has one.\nSchedule 1\n1. Fees: ten rupees."
    )
    assert path_at(text, "It commences") == "Chapter II > Section 1: Short title > Subsection (2)"
    assert path_at(text, "old Act applies") == "Chapter II > Section 2: Definitions"
    assert path_at(text, "ten rupees") == "Schedule 1"


def test_a_notice_with_a_list_has_no_clauses() -> None:
    text = "सुनकोशी नगरपालिकाको सूचना\n१. आवेदन: वडामा दिने।\n२. शुल्क: रु. ५०।\n३. म्याद: असार।"
    assert outline(document(text)).divisions == ()


def test_a_running_head_opens_nothing_and_a_new_part_closes_all() -> None:
    text = (
        "भाग १\n१. नाम: यो ऐन हो।\n२. अर्थ: यस ऐनमा,\nभाग १\nअर्को पृष्ठमा जारी।\n३. दायरा: सबैतिर।\nभाग २\nबाँकी।"
    )
    assert path_at(text, "अर्को पृष्ठमा") == "भाग १ > दफा २: अर्थ"
    assert path_at(text, "बाँकी") == "भाग २"


def test_marked_headings_nest_by_level_and_carry_legal_ranks() -> None:
    text = "# नियम\n\n## भाग-३ हक\n\n### १६. बाँच्न पाउने हक\n\nपाठ एक\n\n## परिशिष्ट\n\nपाठ दुई"
    marked = [line for line in text.split("\n") if line.startswith("#")]
    regions = [
        Region(text.index(line), text.index(line) + len(line), "heading", line.index(" ")) for line in marked
    ]
    assert path_at(text, "पाठ एक", *regions) == "नियम > भाग ३: हक > १६. बाँच्न पाउने हक"
    assert path_at(text, "पाठ दुई", *regions) == "नियम > परिशिष्ट"


def test_long_titles_are_shortened_at_a_word() -> None:
    title = "स्थानीय तहको वार्षिक कार्यक्रम तथा बजेट तर्जुमा कार्यान्वयन र अनुगमन सम्बन्धी व्यवस्था"
    text = f"परिच्छेद ४ {title}\nपाठ।"
    assert path_at(text, "पाठ") == "परिच्छेद ४: स्थानीय तहको वार्षिक कार्यक्रम तथा बजेट तर्जुमा कार्यान्वयन…"


def test_chunks_carry_the_path_of_their_first_new_character() -> None:
    tokenizer = GraphemeTokenizer()
    chunker = load_chunker("recursive", tokenizer=tokenizer, size=60, overlap_ratio=0.3)
    made = document(ACT)
    where = outline(made)
    chunks = chunk_document(made, chunker, tokenizer)
    assert any(chunk.overlap for chunk in chunks)
    for chunk in chunks:
        assert chunk.path == where.path(chunk.start + chunk.overlap, chunk.end)
    assert chunks[-1].path == "अनुसूची १"


LINES = [
    "भाग १",
    "भाग-२ हक",
    "परिच्छेद १ सुरु",
    "दफा ३. नाम: पाठ।",
    "१. अर्थ: पाठ।",
    "२.",
    "(१) पाठ।",
    "",
    "## क",
    "अनुसूची",
]


@given(st.lists(st.sampled_from(LINES) | st.text(max_size=20), max_size=30))
def test_any_text_has_an_outline_in_order(lines: list[str]) -> None:
    text = "\n".join(lines)
    divisions = outline(document(text)).divisions
    starts = [division.start for division in divisions]
    assert starts == sorted(starts)
    assert all(0 <= d.start < d.end <= len(text) and d.label for d in divisions)
