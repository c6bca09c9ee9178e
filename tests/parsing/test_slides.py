from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from parsing.files import Read, Write
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from rag_platform.errors import ParseError

Save = Callable[[Any], Path]
BOX = (Inches(1), Inches(1), Inches(4), Inches(1))


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def _save(presentation: Any) -> Path:
        path = tmp_path / "slides.pptx"
        presentation.save(str(path))
        return path

    return _save


def test_each_slide_is_a_page_with_its_own_notes(save: Save, read: Read) -> None:
    deck = Presentation()
    for number, (title, notes) in enumerate(
        [("पहिलो", "लक्ष्य तीन वर्ष"), ("दोस्रो", ""), ("तेस्रो", "अन्तिम टिप्पणी")]
    ):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = f"बुँदा {number}\nअर्को"
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    document = read(save(deck))

    assert [(page.page_no, page.label) for page in document.pages] == [
        (1, "slide"),
        (2, "slide"),
        (3, "slide"),
    ]
    assert [page.text for page in document.pages] == [
        "पहिलो\n\nबुँदा 0\nअर्को\n\nलक्ष्य तीन वर्ष",
        "दोस्रो\n\nबुँदा 1\nअर्को",
        "तेस्रो\n\nबुँदा 2\nअर्को\n\nअन्तिम टिप्पणी",
    ]


def test_tables_groups_charts_and_pictures(save: Save, read: Read, tmp_path: Path) -> None:
    from PIL import Image

    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    table = slide.shapes.add_table(3, 2, *BOX).table
    for row, texts in enumerate([("वार्षिक प्रगति", ""), ("सूचक", "उपलब्धि"), ("साक्षरता", "७८ | प्रतिशत")]):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    table.cell(0, 0).merge(table.cell(0, 1))
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(*BOX).text_frame.text = "समूहमा क"
    group.shapes.add_group_shape().shapes.add_textbox(*BOX).text_frame.text = "दोहोरो समूहमा ख"
    chart = CategoryChartData()
    chart.categories = ["२०८१", "२०८२"]
    chart.add_series("विद्यार्थी", (120, 150))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *BOX, chart)
    Image.new("L", (8, 8)).save(tmp_path / "a.png")
    picture = slide.shapes.add_picture(str(tmp_path / "a.png"), 0, 0)
    picture._element.nvPicPr.cNvPr.set("descr", "विद्यालयको भवन")

    assert read(save(deck)).text == (
        "| वार्षिक प्रगति |  |\n| --- | --- |\n| सूचक | उपलब्धि |\n| साक्षरता | ७८ \\| प्रतिशत |\n\n"
        "समूहमा क\n\nदोहोरो समूहमा ख\n\n"
        "|  | विद्यार्थी |\n| --- | --- |\n| २०८१ | 120 |\n| २०८२ | 150 |\n\nविद्यालयको भवन"
    )


def test_automatic_numbers_line_breaks_and_hidden_slides(save: Save, read: Read) -> None:
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    frame = slide.shapes.add_textbox(*BOX).text_frame
    frame.text = "टोकन\nजाँच\vदोस्रो लाइन\nसिफारिस"
    for paragraph in frame.paragraphs:
        properties = paragraph._p.get_or_add_pPr()
        number = properties.makeelement(
            "{http://schemas.openxmlformats.org/drawingml/2006/main}buAutoNum",
            {"type": "hindiNumPeriod", "startAt": "3"},
        )
        properties.append(number)
    slide._element.set("show", "0")
    (page,) = read(save(deck)).pages

    assert page.text == "३. टोकन\n४. जाँच\nदोस्रो लाइन\n५. सिफारिस"
    assert page.reason == "hidden slide"


def test_empty_slides_keep_the_numbers_right(save: Save, read: Read) -> None:
    deck = Presentation()
    for _ in range(2):
        deck.slides.add_slide(deck.slide_layouts[6])
    deck.slides[1].shapes.add_textbox(*BOX).text_frame.text = "दोस्रो"

    assert [(page.page_no, page.text) for page in read(save(deck)).pages] == [(1, ""), (2, "दोस्रो")]


def test_shows_and_macro_files_are_presentations(save: Save, read: Read, write: Write) -> None:
    deck = Presentation()
    deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_textbox(*BOX).text_frame.text = "पाठ"
    made = save(deck)
    target = write("show.ppsx", b"")
    with zipfile.ZipFile(made) as source, zipfile.ZipFile(target, "w") as copy:
        for name in source.namelist():
            content = source.read(name).replace(b"presentation.main+xml", b"slideshow.main+xml")
            copy.writestr(name, content)

    assert read(target).text == "पाठ"


def test_a_missing_part_is_a_parse_error(save: Save, read: Read, write: Write) -> None:
    deck = Presentation()
    deck.slides.add_slide(deck.slide_layouts[6])
    target = write("broken.pptx", b"")
    with zipfile.ZipFile(save(deck)) as source, zipfile.ZipFile(target, "w") as copy:
        for name in source.namelist():
            if name != "ppt/presentation.xml":
                copy.writestr(name, source.read(name))

    with pytest.raises(ParseError):
        read(target)


def test_links_on_slides_keep_their_target(write: Write, read: Read) -> None:
    from pptx import Presentation

    made = Presentation()
    slide = made.slides.add_slide(made.slide_layouts[1])
    run = slide.placeholders[1].text_frame.paragraphs[0].add_run()
    run.text = "फाराम"
    run.hyperlink.address = "https://example.org/form"
    path = write("a.pptx", b"")
    made.save(str(path))
    assert read(path).text == "फाराम (https://example.org/form)"
