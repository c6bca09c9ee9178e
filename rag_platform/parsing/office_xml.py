"""The parts of an Office package (OOXML) read as streams: no document type, no entity, no second copy.

What stands in a part is its reader's business.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rag_platform.errors import ParseError

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

__all__ = ["Relation", "Relations", "attribute", "child", "elements", "local_name", "part_name", "relations"]


@dataclass(frozen=True, slots=True)
class Relation:
    """What a part points to: ``target`` is the name of a part, or an address where it is external."""

    kind: str
    target: str
    external: bool


@dataclass(frozen=True, slots=True)
class Relations:
    """The relations of one part by their id."""

    by_id: dict[str, Relation] = field(default_factory=dict)

    def of_kind(self, kind: str) -> list[str]:
        """Return the parts that stand in a relation whose type ends with ``kind``."""
        return [one.target for one in self.by_id.values() if one.kind == kind and not one.external]


def elements(archive: zipfile.ZipFile, part: str, *tags: str) -> Iterator[Element]:
    """Yield the elements of these names as they end, each emptied when the next is asked for.

    Namespaces do not count: files of the strict variant of the standard have others.

    Raises:
        ParseError: The part is missing, has a document type, or is no XML.
    """
    from lxml import etree

    name = part_name(archive, part)
    if name is None:
        raise ParseError(f"the part {part!r} is missing; save the file anew")
    try:
        with archive.open(name) as file:
            found = etree.iterparse(
                file, tag=[f"{{*}}{tag}" for tag in tags], resolve_entities=False, remove_comments=True,
                remove_pis=True,
            )  # fmt: skip
            for _, element in found:
                if element.getroottree().docinfo.doctype:
                    raise ParseError(f"the part {part!r} has a document type, which no Office program writes")
                yield element
                element.clear()
                while element.getprevious() is not None:
                    del element.getparent()[0]
    except etree.XMLSyntaxError as error:
        raise ParseError(f"the part {part!r} is damaged ({error.msg}); save the file anew") from error


def part_name(archive: zipfile.ZipFile, part: str) -> str | None:
    """Return how the archive spells a part: some programs differ in case, or write backslashes."""
    if part in archive.NameToInfo:
        return part
    spelled = ((name.replace("\\", "/").lower(), name) for name in archive.namelist())
    return next((name for plain, name in spelled if plain == part.lower()), None)


def relations(archive: zipfile.ZipFile, part: str = "") -> Relations:
    """Return the relations of a part, of the package where none is named; empty where there are none."""
    folder, name = posixpath.split(part)
    listing = posixpath.join(folder, "_rels", f"{name}.rels")
    found = Relations()
    if part_name(archive, listing) is not None:
        for element in elements(archive, listing, "Relationship"):
            external = element.get("TargetMode") == "External"
            target = element.get("Target", "")
            if not external:
                target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            kind = posixpath.basename(element.get("Type", ""))
            found.by_id[element.get("Id", "")] = Relation(kind, target, external)
    return found


def local_name(element: Element) -> str:
    """Return an element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def child(element: Element, name: str) -> Element | None:
    """Return the first child of that name in whatever namespace."""
    return next((one for one in element if local_name(one) == name), None)


def attribute(element: Element, name: str) -> str:
    """Return an attribute by its name in whatever namespace (``r:id``), or nothing."""
    for key, value in element.attrib.items():
        if str(key).rpartition("}")[2] == name and (str(key) != name or name != "id"):
            return str(value)
    return ""
