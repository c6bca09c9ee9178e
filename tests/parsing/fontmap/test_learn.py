from __future__ import annotations

from rag_platform.parsing.fontmap.learn import Key, choose_pages, learn

PAIRS = [("नम", "नम"), ("मन", "मन"), ("नगर", "नगर"), ("गमन", "गमन"), ("रमन", "रमन"), ("गरम", "गरम")]


def glyphs(names: str) -> tuple[Key, ...]:
    return tuple(("font", name) for name in names)


def test_letters_are_learned_from_words() -> None:
    found = learn([(glyphs(drawn), text) for drawn, text in PAIRS * 3], {})
    assert {key[1]: learned.text for key, learned in found.items()} == {c: c for c in "नमगर"}
    assert all(learned.posterior > 0.95 and learned.residual == 0.0 for learned in found.values())


def test_a_conjunct_is_one_glyph() -> None:
    pairs = [*PAIRS, ("Qम", "क्षम"), ("गQ", "गक्ष"), ("Qमन", "क्षमन"), ("नQर", "नक्षर")]
    found = learn([(glyphs(drawn), text) for drawn, text in pairs * 3], {})
    assert found["font", "Q"].text == "क्ष"
    assert found["font", "Q"].posterior > 0.95


def test_known_glyphs_stay_and_hold_the_others() -> None:
    known: dict[Key, str] = {("font", "न"): "न", ("font", "म"): "म"}
    found = learn([(glyphs("नXम"), "नगरम")] * 3, known)
    assert {key[1]: learned.text for key, learned in found.items()} == {"X": "गर"}


def test_noise_of_ocr_does_not_win() -> None:
    pairs = [(glyphs(drawn), text) for drawn, text in PAIRS * 5]
    pairs += [(glyphs("नम"), "मम"), (glyphs("गरम"), "गरन"), (glyphs("गरम"), "।")]
    found = learn(pairs, {})
    assert {key[1]: learned.text for key, learned in found.items()} == {c: c for c in "नमगर"}


def test_two_meanings_of_one_glyph_are_doubted() -> None:
    pairs = [(glyphs("नXम"), "नगम"), (glyphs("मXन"), "मरन"), (glyphs("नX"), "नग"), (glyphs("मX"), "मर")] * 3
    known: dict[Key, str] = {("font", "न"): "न", ("font", "म"): "म"}
    found = learn(pairs, known)["font", "X"]
    assert 0.3 < found.posterior < 0.7
    assert found.residual > 0.3


def test_a_glyph_seen_once_is_not_sure() -> None:
    found = learn([(glyphs(drawn), text) for drawn, text in [*PAIRS * 3, ("नX", "नघ")]], {})
    assert found["font", "X"].text == "घ"
    assert found["font", "X"].posterior <= 0.5


CLAIMED: list[tuple[str, str]] = [*PAIRS, ("कखग", "कखग"), ("खक", "खक"), ("गक", "गक"), ("नख", "नख")]


def test_a_layer_that_mostly_agrees_helps_with_what_is_rare() -> None:
    claims: dict[Key, str] = {("font", c): c for c in "नमगरकख"}
    claims |= {("font", "X"): "घ", ("font", "Y"): "र्"}
    pairs = [(glyphs(drawn), text) for drawn, text in [*CLAIMED * 3, ("नX", "नघ")]]
    found = learn(pairs, {}, claims=claims)
    assert found["font", "X"].posterior > 0.7
    assert found["font", "Y"].text == "\U000f0930"  # never seen: the layer's ra + halant is a reph
    assert found["font", "Y"].posterior == 1.0


def test_a_layer_that_lies_is_not_heard() -> None:
    claims: dict[Key, str] = dict(zip([("font", c) for c in "नमगरकखXY"], "मनरगखकचछ", strict=True))
    found = learn([(glyphs(drawn), text) for drawn, text in CLAIMED * 3], {}, claims=claims)
    assert {key[1]: learned.text for key, learned in found.items()} == {c: c for c in "नमगरकख"}


def test_pages_are_chosen_by_what_they_newly_show() -> None:
    a, b, c, d = (("font", name) for name in "abcd")
    pages = {1: {a: 50}, 2: {a: 9, b: 9}, 3: {c: 20}, 4: {d: 30}}
    assert choose_pages(pages, [a, b, c], at_most=2, at_least=1) == [2, 3]
    assert choose_pages(pages, [a, b, c], at_most=4, at_least=1) == [2, 3]
    assert choose_pages(pages, [], at_most=3) == []
