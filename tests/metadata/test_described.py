"""Fields found in documents: in their text, their name and their file, and what their owner says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_platform.chunking.chunkers import chunk_document, load_chunker
from rag_platform.chunking.tokenizers import load_tokenizer
from rag_platform.metadata.described import described, document_fields
from rag_platform.metadata.schema import FIELDS, ministry_names, spec
from rag_platform.metadata.sidecars import Given
from rag_platform.types import Document, Fields, Page, Region

ACT = """नेपाल सरकार
श्रम ऐन, २०७४
प्रमाणीकरण मिति
२०७४।५।१९

परिच्छेद १
प्रारम्भिक

दफा १. संक्षिप्त नाम: यस ऐनको नाम श्रम ऐन, २०७४ रहेको छ।

दफा २. परिभाषा: निजामती सेवा ऐन, २०४९ को दफा ७५ बमोजिम नियुक्त कर्मचारी यसमा पर्दैनन्।

दफा २क. अवधि: यो व्यवस्था २०७५ साल साउन १ गतेदेखि आ.व. २०७५/७६ भर लागू हुन्छ।
"""
LETTER = """नेपाल सरकार
शिक्षा, विज्ञान तथा प्रविधि मन्त्रालय
सिंहदरबार, काठमाडौँ

च.नं. ४५२/०८१
मिति: २०८१/०४/१५

विषय: बैठक सम्बन्धमा।

मिति २०८१/०४/१० गते बसेको बैठकले २०८१/०५/०१ गतेसम्म विवरण माग्ने निर्णय गर्‍यो।
"""


def document(text: str, source: str = "a.txt", form: str = "txt", **metadata: str) -> Document:
    return Document(source, "0" * 64, form, (Page(1, text, "markup"),), metadata=metadata)


def about(text: str = "", source: str = "a.txt", given: Fields | None = None, **metadata: str) -> Fields:
    return document_fields(document(text, source, **metadata), Given(given or {}))


def test_an_act_tells_its_title_and_its_day() -> None:
    assert about(ACT) == {"act": ("श्रम ऐन, २०७४",), "published": (20170904,), "year": (2074,)}


def test_a_letter_tells_its_ministry_number_and_date_not_those_that_it_mentions() -> None:
    assert about(LETTER) == {
        "ministry": (
            "शिक्षा, विज्ञान तथा प्रविधि मन्त्रालय",
            "शिक्षा, विज्ञान तथा प्रविधि",
            "शिक्षा",
            "विज्ञान",
            "प्रविधि",
        ),
        "document_no": ("४५२/०८१",),
        "published": (20240730,),
        "year": (2081,),
    }


@pytest.mark.parametrize(
    "text",
    [
        "नेपाल राजपत्रमा प्रकाशित मिति\n२०८१।४।१५ निजामती सेवा ऐन बमोजिम",
        "मिति : २०८१/०४/१५ गते\n\nसूचना",
        "**मिति:** २०८१/०४/१५\n",
        "पत्र संख्या: १२      मिति: २०८१-०४-१५\n",
        "| मिति: २०८१/०४/१५ | स्थान: झापा |",
        "Date of Authentication\n\n2081-4-15 (July 30, 2024)",
        "Published on 30 July 2024 by the Ministry",
        "Date: 30 July 2024\n\nDear Sir,",
    ],
)
def test_a_labelled_day_is_the_documents_own(text: str) -> None:
    assert about(text)["published"] == (20240730,)


@pytest.mark.parametrize(
    "text",
    [
        "मिति २०८१/०४/१५ गते बसेको बैठकको निर्णय",
        "दरखास्त दिने अन्तिम मिति: २०८१/०४/१५\n",
        "२०८१/०४/१५ मा प्रकाशित",
        "जन्म मिति: २०५१/०४/१५\n",
        "शुभारम्भ २०८१ साउन १५",
        "क" * 3100 + "\nप्रकाशित मिति: २०८१/०४/१५\n",
        "मिति: २०८१/०२/३३\n",
    ],
)
def test_a_day_that_is_only_mentioned_is_not(text: str) -> None:
    assert "published" not in about(text)


@pytest.mark.parametrize(
    ("source", "fields"),
    [
        ("श्रम ऐन, २०७४.pdf", {"act": ("श्रम ऐन, २०७४",), "year": (2074,)}),
        ("Cooperatives Act 2074.pdf", {"act": ("Cooperatives Act, 2074",), "year": (2074,)}),
        ("सूचना 2081-04-15.pdf", {"published": (20240730,), "year": (2081,)}),
        ("सूचना_२०८१_०४_१५.pdf", {"published": (20240730,), "year": (2081,)}),
        ("बजेट 2080-81.xlsx", {"fiscal_year": ("2080/81",)}),
        ("बजेट_२०८०_८१.xlsx", {"fiscal_year": ("2080/81",)}),
        ("प्रतिवेदन २०८१.docx", {"year": (2081,)}),
        ("नियमावली, 2075_n4hme7v.pdf", {"year": (2075,)}),
        ("2081/सूचना.pdf", {"year": (2081,)}),
        ("बजेट/२०८०-८१/तालिका.xlsx", {"fiscal_year": ("2080/81",)}),
        ("2081/सूचना 2080.pdf", {"year": (2080,)}),
        ("report 2024.pdf", {}),
        ("२०८० र २०८१ को तुलना.pdf", {}),
        ("075-WO-0696.docx", {}),
        ("2020/photo.jpg", {}),
    ],
)
def test_what_a_name_tells(source: str, fields: Fields) -> None:
    assert about("पाठ", source) == fields


def test_what_a_file_says_of_itself() -> None:
    front = {"title": "छात्रवृत्ति", "date": "2081-04-15", "author": "सीता राई", "tags": "क, ख", "x_ward": "7"}
    assert document_fields(document("पाठ", "a.md", "md", **front), Given()) == {
        "author": ("सीता राई",),
        "published": (20240730,),
        "title": ("छात्रवृत्ति",),
        "x_ward": ("7",),
        "year": (2081,),
    }
    office = {
        "title": "Microsoft Word - a.doc",
        "author": "DELL",
        "created": "2024-01-01",
        "year": "nonsense",
    }
    assert document_fields(document("पाठ", "a.docx", "docx", **office), Given()) == {}
    assert about("पाठ", date="2024-07-30T10:00:00Z")["published"] == (20240730,)


def test_the_first_heading_is_the_title_unless_the_file_names_one() -> None:
    text = "आ.व. २०८१/८२ को नीति तथा कार्यक्रम\n\nपाठ"
    page = Page(1, text, "markup", regions=(Region(0, text.index("\n"), "heading", 1),))
    plain = Document("a.md", "0" * 64, "md", (page,))
    assert document_fields(plain, Given()) == {
        "fiscal_year": ("2081/82",),
        "title": ("आ.व. २०८१/८२ को नीति तथा कार्यक्रम",),
    }


def test_the_owner_is_right_then_the_file_then_the_name_then_the_text() -> None:
    name = "सूचना 2080-01-01.pdf"
    assert about(LETTER, name)["published"] == (20230414,)
    assert about(LETTER, name, date="2079-01-01")["published"] == (20220414,)
    told = about(LETTER, name, {"published": (20210414,), "ministry": ("गृह मन्त्रालय",)}, date="2079-01-01")
    assert (told["published"], told["year"]) == ((20210414,), (2078,))
    assert told["ministry"] == ("गृह मन्त्रालय", "गृह")
    assert about(LETTER, name, {"year": (2070,)})["year"] == (2070,)


def test_passages_have_their_documents_fields_and_their_own() -> None:
    tokenizer = load_tokenizer("xlm-r")
    whole = document(ACT)
    chunks = chunk_document(whole, load_chunker("recursive", tokenizer=tokenizer, size=40), tokenizer)
    found = described(whole, chunks, Given({"publisher": ("कानून आयोग",)}))
    by_section = {chunk.fields["section"][0]: chunk.fields for chunk in found if "section" in chunk.fields}
    assert all(chunk.fields["act"] == ("श्रम ऐन, २०७४",) for chunk in found)
    assert all(chunk.fields["publisher"] == ("कानून आयोग",) for chunk in found)
    assert set(by_section) == {"1", "2", "2क"}
    assert by_section["2"]["acts"] == ("निजामती सेवा ऐन, २०४९",)
    assert by_section["2"]["sections"] == ("2", "75")
    assert by_section["2क"]["dates"] == (20180717,)
    assert by_section["2क"]["years"] == (2075,)
    assert by_section["2क"]["fiscal_years"] == ("2075/76",)
    assert [chunk.chunk_id for chunk in found] == [chunk.chunk_id for chunk in chunks]


def test_every_field_says_what_it_is() -> None:
    assert all(field.description and field.of in ("document", "passage") for field in FIELDS.values())
    assert spec("x_anything").type == "own"


def test_every_field_stands_in_the_documentation() -> None:
    doc = (Path(__file__).parents[2] / "docs" / "filters.md").read_text(encoding="utf-8")
    types = {"fiscal_year": "fiscal year"}
    for name, field in FIELDS.items():
        row = f"| `{name}` | {types.get(field.type, field.type)} | {field.of} | {field.description} |"
        assert row in doc


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("गृह मन्त्रालय", ("गृह मन्त्रालय", "गृह")),
        (
            "महिला, बालबालिका तथा ज्येष्ठ नागरिक मन्त्रालय",
            (
                "महिला, बालबालिका तथा ज्येष्ठ नागरिक मन्त्रालय",
                "महिला, बालबालिका तथा ज्येष्ठ नागरिक",
                "महिला",
                "बालबालिका",
                "ज्येष्ठ नागरिक",
            ),
        ),
        (
            "Ministry of Health and Population",
            (
                "Ministry of Health and Population",
                "Health and Population",
                "Health",
                "Population",
            ),
        ),
        ("शिक्षा", ("शिक्षा",)),
    ],
)
def test_names_of_a_ministry(name: str, names: tuple[str, ...]) -> None:
    assert ministry_names(name) == names
