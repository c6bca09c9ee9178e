from __future__ import annotations

import time

import pytest
from parsing.files import Read, Write

HTML = """<!doctype html><html lang="ne"><head><meta charset="utf-8"><title> खोप
कार्यक्रम </title><meta name="Author" content="नगर अस्पताल"><style>p{}</style><script>var x</script></head><body>
<nav><a href="/">गृहपृष्ठ</a></nav><div role="navigation">मेनु</div>
<h1>खोप</h1><p>शिशुलाई ने<b>पा</b>ल भरि&nbsp;खोप
 दिइन्छ &amp; नि:शुल्क।<br>दोस्रो लाइन<!-- टिप्पणी --></p>
<div style="color:red; DISPLAY : none">लुकेको</div><p hidden>लुकेको</p><noscript>स्क्रिप्ट</noscript>
<template>ढाँचा</template><img src="a.png" alt="खोप केन्द्रको नक्सा">
<ul><li>बुँदा एक<ul><li>भित्री</li></ul></li><li>बुँदा दुई</li></ul>
<ol start="5"><li>पाँचौँ</li><li value="9">नवौँ</li></ol>
<dl><dt>पद</dt><dd>अर्थ</dd></dl><pre>पहिलो
  दोस्रो</pre><footer>© पाद</footer></body></html>"""


def test_visible_text_in_document_order(write: Write, read: Read) -> None:
    document = read(write("khop.html", HTML))

    assert document.text == (
        "खोप\n\nशिशुलाई नेपाल भरि\u00a0खोप दिइन्छ & नि:शुल्क।\nदोस्रो लाइन\n\nखोप केन्द्रको नक्सा\n\n"
        "- बुँदा एक\n- भित्री\n- बुँदा दुई\n\n5. पाँचौँ\n9. नवौँ\n\nपद\nअर्थ\n\nपहिलो\n  दोस्रो\n\n© पाद"
    )
    assert document.metadata == {"title": "खोप कार्यक्रम", "author": "नगर अस्पताल", "language": "ne"}


def test_tables_are_rows_with_merged_cells_once(write: Write, read: Read) -> None:
    table = (
        "<p>अघि</p><table><caption>तालिका १</caption><thead><tr><th colspan=2>उमेर<th>खोप</thead>"
        "<tr><td rowspan=2>६ हप्ता<td>पहिलो<td>पोलियो | डी.पी.टी.<tr><td>दोस्रो<td>बी.सी.जी.</table><p>पछि</p>"
    )

    assert read(write("a.html", table)).text == (
        "अघि\n\nतालिका १\n| उमेर |  | खोप |\n| --- | --- | --- |\n"
        "| ६ हप्ता | पहिलो | पोलियो \\| डी.पी.टी. |\n|  | दोस्रो | बी.सी.जी. |\n\nपछि"
    )


def test_layout_tables_are_no_tables(write: Write, read: Read) -> None:
    nested = (
        "<table><tr><td><p>बायाँ</p></td><td><table><tr><td>क</td><td>ख</td></tr></table></td></tr></table>"
    )

    assert read(write("a.html", nested)).text == "बायाँ\n\n| क | ख |\n| --- | --- |"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<html><title>क</title><p>टाउको बन्द नभएको", "टाउको बन्द नभएको"),
        ("<svg><rect/><p>रेखाचित्रपछिको पाठ</p>", "रेखाचित्रपछिको पाठ"),
        ("<p>एक<p>दुई", "एक\n\nदुई"),
        ("<dt>पद<dd>अर्थ", "पद\nअर्थ"),
        ("<p>अ<![CDATA[x]]>ब</p>", "अब"),
        ("पाठ मात्र", "पाठ मात्र"),
        ("<p>शब्द<wbr>जोड &#x1F642; &#2325;</p>", "शब्दजोड 🙂 क"),
    ],
)
def test_broken_markup_loses_nothing(write: Write, read: Read, markup: str, text: str) -> None:
    assert read(write("a.html", markup)).text == text


def test_deep_nesting_is_read(write: Write, read: Read) -> None:
    assert "गहिरो" in read(write("a.html", "<p>सुरु</p>" + "<div>" * 3000 + "गहिरो")).text


@pytest.mark.parametrize(
    ("encoding", "markup"),
    [
        (
            "cp1252",
            '<meta http-equiv="Content-Type" content="text/html; charset=windows-1252"><p>Café – € 5</p>',
        ),
        ("utf-16", "<html><p>Café – € 5</p></html>"),
        ("utf-8", '<?xml version="1.0" encoding="utf-8"?><html><p>Café – € 5</p></html>'),
        ("utf-16", '<?xml version="1.0" encoding="utf-16"?><html><p>Café – € 5</p></html>'),
        ("cp1252", "<p>Café – € 5</p>"),
    ],
)
def test_encodings(write: Write, read: Read, encoding: str, markup: str) -> None:
    assert read(write("a.html", markup.encode(encoding))).text == "Café – € 5"


@pytest.mark.parametrize(
    "markup",
    [
        '<div id="cookie-banner">यो साइटले कुकी प्रयोग गर्छ</div>',
        '<div class="x gdpr-consent">स्वीकार गर्नुहोस्</div>',
        '<div class="navbar"><a href="/">गृहपृष्ठ</a></div><ul class="breadcrumb"><li>गृह</ul>',
        "<dialog>सूचना</dialog><span aria-hidden=true>★</span>",
    ],
)
def test_menus_and_cookie_bars_are_left_out(write: Write, read: Read, markup: str) -> None:
    page = f'<meta charset=utf-8>{markup}<p class="menu-price">मूल्य सूची</p>'
    assert read(write("a.html", page)).text == "मूल्य सूची"


def test_links_outside_keep_their_target(write: Write, read: Read) -> None:
    page = (
        "<meta charset=utf-8><p>यो <a href='https://example.org/form'>फाराम </a>भर्नुहोस्, "
        "<a href='/x'>यहाँ</a> वा <a href=mailto:a@example.org>a@example.org</a>।</p>"
        "<table><tr><th>क<th>ख<tr><td>ग<td>"
        "<a href=https://example.org/>साइट</a></table>"
    )
    assert read(write("a.html", page)).text == (
        "यो फाराम (https://example.org/form) भर्नुहोस्, यहाँ वा a@example.org।\n\n"
        "| क | ख |\n| --- | --- |\n| ग | साइट (https://example.org/) |"
    )


def test_a_table_inside_a_table_of_data(write: Write, read: Read) -> None:
    inner = "<table><tr><td>क<td>ख<tr><td>ग<td>घ</table>"
    page = f"<meta charset=utf-8><table><tr><th>सेवा<th>विवरण<tr><td>दर्ता<td>{inner}</table>"
    assert read(write("a.html", page)).text == ("| सेवा | विवरण |\n| --- | --- |\n| दर्ता | क, ख; ग, घ |")


@pytest.mark.parametrize("cell", ["<td>", "<th>क<td>"])
def test_tables_in_tables_in_tables_are_read_in_time(write: Write, read: Read, cell: str) -> None:
    """Each that is tried as a table of data and given up must not double the work of those around it."""
    started = time.monotonic()
    document = read(write("a.html", f"<meta charset=utf-8>{f'<table><tr>{cell}' * 150}{'ख' * 3000}"))

    assert document.text.endswith("ख" * 3000)
    assert time.monotonic() - started < 20
