from __future__ import annotations

import numpy as np

from rag_platform.audit.likeness import (
    Signature,
    folded_words,
    groups,
    likeness,
    near_groups,
    signature,
    text_key,
)


def key_of(text: str) -> str:
    return text_key(folded_words(text))


def signature_of(text: str) -> Signature:
    return signature(folded_words(text))


NOTICE = "सुनकोशी नगरपालिकाले सम्पत्ति कर असार मसान्तभित्र बुझाउन सबै करदातालाई अनुरोध गरेको छ"


def test_a_text_has_one_key_in_every_spelling_and_markup() -> None:
    key = key_of("सङ्घीय संसद्को २०८२ सालको बैठक बस्यो।")
    assert key == key_of("## संघीय संसद्को\n\n2082 सालको | बैठक | बस्यो |")
    assert key != key_of("सङ्घीय संसद्को २०८१ सालको बैठक बस्यो।")
    assert key_of("सूचना") == ""


def test_groups_are_of_equal_keys_and_empty_ones_equal_nothing() -> None:
    assert groups(["क", "", "ख", "क", "", "ग", "ख"]) == [[0, 3], [2, 6]]


def test_likeness_is_the_share_of_common_runs_of_three_words() -> None:
    words = NOTICE.split()
    longer = " ".join(words * 8 + ["तर", "ढिलो", "गर्नेलाई", "जरिवाना"])
    first, second = {tuple(words[i : i + 3]) for i in range(len(words) - 2)}, set[tuple[str, ...]]()
    text = longer.split()
    second = {tuple(text[i : i + 3]) for i in range(len(text) - 2)}
    expected = len(first & second) / len(first | second)
    assert abs(likeness(signature_of(NOTICE), signature_of(longer)) - expected) < 0.2
    assert likeness(signature_of(NOTICE), signature_of(NOTICE)) == 1.0


def test_near_texts_are_one_group_and_others_none() -> None:
    rng = np.random.default_rng(3)
    vocabulary = [f"शब्द{n}" for n in range(500)]
    texts = [" ".join(rng.choice(vocabulary, 80)) for _ in range(60)]
    changed = texts[7].split()
    changed[40] = "बदलिएको"
    texts += [" ".join(changed), texts[3]]
    assert near_groups([signature_of(text) for text in texts]) == [[3, 61], [7, 60]]
    assert near_groups([]) == []
