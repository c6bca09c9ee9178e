"""Names of chat models: which collection answers, and who puts it into words.

``rag`` is the default of both, ``rag/laws`` another collection, ``rag:extractive`` another generator, and
``rag/laws:extractive`` both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rag_platform.errors import UnknownName

__all__ = ["DEFAULT", "chat_models", "named"]

DEFAULT = "rag"


def named(model: str) -> tuple[str | None, str | None]:
    """Return collection and generator of a model's name, None where it is the default.

    Raises:
        UnknownName: It is no name of this form.

    >>> named("rag"), named("rag/laws"), named("rag/laws:ollama/llama3:8b")
    ((None, None), ('laws', None), ('laws', 'ollama/llama3:8b'))
    """
    place, has_generator, generator = model.partition(":")
    head, has_collection, collection = place.partition("/")
    is_whole = (collection or not has_collection) and (generator or not has_generator)
    if head != DEFAULT or not is_whole:
        raise UnknownName(
            "model", model, (DEFAULT, f"{DEFAULT}/COLLECTION", f"{DEFAULT}:GENERATOR", "see GET /v1/models")
        )
    return collection or None, generator or None


def chat_models(collections: Iterable[str], generators: Sequence[str], default: str) -> list[str]:
    """Return the names that can be asked: each collection with the usual generator, the default with each.

    >>> chat_models(["nepali_docs", "laws"], ["prompt"], "nepali_docs")
    ['rag', 'rag/nepali_docs', 'rag/laws', 'rag:prompt']
    """
    known = list(collections)
    usual = [DEFAULT, *(f"{DEFAULT}:{name}" for name in generators)] if default in known else []
    return [*usual[:1], *(f"{DEFAULT}/{name}" for name in known), *usual[1:]]
