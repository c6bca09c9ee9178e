from __future__ import annotations

from rag_platform.parsing.layout import Line, paragraphs, with_labels


def line(
    text: str, top: float, *, x0: float = 50, x1: float = 500, block: int = 0, height: float = 12
) -> Line:
    return Line(text, x0, x1, top, top + height, block)


def test_wrapped_lines_are_joined_and_short_ones_kept() -> None:
    lines = [
        line("नगर सभाले पारित गरेको यो नियम", 0),
        line("तुरुन्त लागू हुनेछ।", 15, x1=200),
        line("मिति: २०८२", 30, x1=150),
    ]
    assert paragraphs(lines) == "नगर सभाले पारित गरेको यो नियम तुरुन्त लागू हुनेछ।\nमिति: २०८२"


def test_blocks_stand_apart_unless_only_the_line_spacing_is_wide() -> None:
    spaced = [line(f"लाइन {n}", 20 * n, block=n) for n in range(4)]
    assert paragraphs(spaced) == "लाइन 0 लाइन 1 लाइन 2 लाइन 3"

    apart = [line("क", 0), line("ख", 15), line("ग", 30), line("घ", 70, block=1), line("ङ", 85, block=1)]
    assert paragraphs(apart) == "क ख ग\n\nघ ङ"


def test_list_items_begin_lines_of_their_own() -> None:
    lines = [line("(क) पहिलो", 0), line("(ख) दोस्रो", 15), line("१. तेस्रो", 30), line("• चौथो", 45)]

    assert paragraphs(lines) == "(क) पहिलो\n(ख) दोस्रो\n१. तेस्रो\n• चौथो"


def test_lines_break_after_sentences_and_not_after_abbreviations() -> None:
    lines = [line("पहिलो अनुच्छेद यहाँ सकिन्छ।", 0), line("दोस्रोमा वडा नं.", 15), line("५ जारी छ", 30)]
    assert paragraphs(lines) == "पहिलो अनुच्छेद यहाँ सकिन्छ।\nदोस्रोमा वडा नं. ५ जारी छ"

    assert paragraphs([line("It opened in 2024.", 0), line("Contact the office", 15)]) == (
        "It opened in 2024.\nContact the office"
    )


def test_narrow_columns_keep_their_lines() -> None:
    assert paragraphs([line("१२०", 0, x1=90), line("१५०", 15, x1=90)]) == "१२०\n१५०"


def test_hyphens_go_only_where_the_whole_word_stands_on_the_page() -> None:
    lines = [line("members of the co-", 0), line("operative and mem-", 15), line("bers elect", 30)]

    assert paragraphs(lines) == "members of the co-operative and members elect"


def test_a_page_that_divides_words_divides_all_of_them() -> None:
    lines = [
        line("the commission has prom-", 0),
        line("ised that self-", 15),
        line("help groups of the com-", 30),
        line("mission are sub-", 45),
        line("Sections of an Organi-", 60),
        line("zation", 75),
    ]
    assert paragraphs(lines) == (
        "the commission has promised that self-help groups of the commission "
        "are sub-Sections of an Organization"
    )
    assert paragraphs([line("a long-", 0), line("term plan", 15)]) == "a long-term plan"


def test_soft_hyphens_are_no_hyphens_and_devanagari_ones_stay() -> None:
    assert paragraphs([line("infor\u00ad", 0, x1=90), line("mation", 15, x1=80)]) == "information"
    assert paragraphs([line("सबैले आ-", 0), line("आफ्नो काम गरे", 15)]) == "सबैले आ-आफ्नो काम गरे"
    assert paragraphs([line("अध्यक्ष -", 0), line("सदस्य", 15)]) == "अध्यक्ष - सदस्य"


def test_hanging_labels_go_before_their_text() -> None:
    lines = [
        line("(१)", 0, x0=50, x1=70),
        line("(२)", 20, x0=50, x1=70),
        line("शीर्षक", 40, x0=50, x1=200),
        line("पहिलो उपदफा", 0, x0=90, block=1),
        line("दोस्रो उपदफा", 20, x0=90, block=1),
    ]
    assert [(found.text, found.x0) for found in with_labels(lines)] == [
        ("शीर्षक", 50),
        ("(१) पहिलो उपदफा", 50),
        ("(२) दोस्रो उपदफा", 50),
    ]


def test_a_label_with_nothing_beside_it_stays() -> None:
    alone = [line("५.", 0, x1=70), line("पाठ", 40)]

    assert with_labels(alone) == alone


def test_nothing_gives_nothing() -> None:
    assert paragraphs([]) == ""
    assert paragraphs([line("  ", 0)]) == ""
