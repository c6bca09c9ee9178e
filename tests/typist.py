"""Types Unicode Nepali in Preeti's keys: what a typist does, the reverse of the conversion under test."""

import re

from rag_platform.text.legacy_tables import LEGACY_FONTS

_HALANT, _RAKAR, _EYELASH = "\u094d", "\u094dर", "र\u094d\u200d"
_DRAWN = {
    "झ": "em", "फ": "km", "क्त": "Qm", "क्र": "qm", "ण": "0f", "ष": "if", "क्ष": "If", "ई": "O{", "ऊ": "pm",
    "आ": "cf", "ओ": "cf]", "औ": "cf}", "ऐ": "P]", "झ्": "‰", "फ्": "ˆ", _EYELASH: "¥",
    "ो": "f]", "ौ": "f}",
}  # fmt: skip
_KEYS = {piece: code for code, piece in reversed(LEGACY_FONTS["preeti"].glyphs.items()) if ord(code) < 127}
_KEYS |= {LEGACY_FONTS["preeti"].glyphs[code]: code for code in "§ª¿åËÍ"} | _DRAWN
_SYLLABLE = re.compile(
    "(?P<reph>र्(?=[क-हअ-औ]))?(?P<letters>(?:[क-ह]्\u200d?)*[क-ह]्?|[अ-औ])(?P<signs>[\u0901-\u0903ा-ौ]*)"
)
_ROUND = "5678"
"""Keys of letters without a stem, which take the other rakar: छ ट ठ ड."""


def preeti(text: str) -> str:
    """Return the keys for a text; what has no key stays."""
    text = _SYLLABLE.sub(lambda m: _syllable(m["reph"], m["letters"], m["signs"]), text)
    return "".join(_KEYS.get(char, char) if char > "\u0900" else char for char in text)


def _syllable(reph: str | None, letters: str, signs: str) -> str:
    keys = _letters(letters)
    if signs[:1] == "ि":
        keys, signs = "l" + keys, signs[1:]
    elif signs[:1] in {"ु", "ू"} and keys == "/":
        keys, signs = {"ु": "?", "ू": "¿"}[signs[0]], signs[1:]
    typed = "".join(_KEYS[sign] for sign in signs)
    if not reph:
        return keys + typed
    return f"{keys}f{{{typed[1:]}" if typed[:1] == "f" else f"{keys}{{{typed}"


def _letters(cluster: str) -> str:
    """Type the longest pieces that the font has; what is joined to nothing drawn gets a halant key."""
    keys = ""
    while cluster:
        if cluster.startswith(_RAKAR):
            keys, cluster = keys + ("«" if keys[-1:] in _ROUND else "|"), cluster[2:]
            continue
        piece = next(cluster[:n] for n in range(len(cluster), 0, -1) if _fits(cluster[:n], cluster[n:]))
        keys, cluster = keys + _KEYS[piece], cluster[len(piece) :]
    return keys


def _fits(piece: str, rest: str) -> bool:
    if piece not in _KEYS or (piece.endswith(_HALANT) and len(piece) > 1 and (not rest or rest[0] == "र")):
        return False
    if rest == _HALANT or rest.startswith(_RAKAR) or not rest.startswith(_HALANT):
        return True
    return piece + _HALANT not in _KEYS  # a half letter is drawn as such where the font has one
