"""Messages of errors: the offending value, the nearest name, and no more than can be read."""

from __future__ import annotations

from rag_platform.errors import UnknownName


def test_the_nearest_of_many_names_is_told_and_not_all_are_listed() -> None:
    names = [f"सूचना-{number:04}.pdf" for number in range(2_000)]
    error = UnknownName("document", "सूचना-1500.pfd", names)
    assert "Did you mean 'सूचना-1500.pdf'?" in str(error)
    assert str(error).endswith("सूचना-0049.pdf and 1950 more.")
    assert len(error.known) == 2_000


def test_few_names_are_all_listed() -> None:
    assert str(UnknownName("fruit", "आप", ["स्याउ", "आँप"])) == (
        "unknown fruit 'आप'. Did you mean 'आँप'? Known: आँप, स्याउ."
    )
    assert str(UnknownName("fruit", "x", [])) == "unknown fruit 'x'. Known: none."
