"""What is known of scripts and languages, as tables: a language is added here, as data.

Folds of the search key, spelling variants, stemming, sentence marks, Latin letters, function words. Only
literals and what is derived from them; the functions that use the tables stand beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["CONSONANTS", "FULL_STOPS", "SCRIPTS", "VOWELS", "VOWEL_SIGNS", "Script"]


@dataclass(frozen=True, slots=True)
class Script:
    """How words of one script fold, stem and end a sentence.

    Attributes:
        block: Its first code point; Indic blocks hold 128 each, in one order (ISCII).
        dropped: Characters without a part in the search key.
        sequences: Look-alike sequences and variants, each with what it stands for; longest first.
        patterns: Regular expressions for what depends on the neighbours, with replacements.
        postpositions: Words glued to others, which end no stem.
        stemmer: Snowball's algorithm; None where there is none, and words meet by their pieces.
        final_signs: Vowel signs that end an inflected word and no stem.
        spelling: Letters that writers confuse, folded in terms (not in the search key).
        variants: What else writers confuse, as patterns with replacements.
    """

    block: int
    dropped: str = ""
    sequences: tuple[tuple[str, str], ...] = ()
    patterns: tuple[tuple[str, str], ...] = ()
    postpositions: str = ""
    stemmer: str | None = None
    final_signs: str = ""
    spelling: Mapping[str, str] = field(default_factory=dict)
    variants: tuple[tuple[str, str], ...] = ()


SCRIPTS: dict[str, Script] = {
    "Devanagari": Script(
        0x900,
        # Nukta: क़ and ऱ (which NFD splits) become क and र, so that ऱ्य, र्‍य and र्य are one key, too.
        # Visarga: क्रमशः is as often typed क्रमश: with a colon, and दुःख as दुख.
        dropped="\u093c\u0903",
        sequences=(
            ("अाे", "ओ"),
            ("अाै", "औ"),
            ("अा", "आ"),
            ("आे", "ओ"),
            ("आै", "औ"),
            ("अो", "ओ"),
            ("अौ", "औ"),
            ("एे", "ऐ"),
            ("ाे", "ो"),
            ("ाै", "ौ"),
            ("ँ", "ं"),
        ),
        patterns=(
            # A colon typed for a visarga inside a word; only after the stems that have one, because
            # "नाम:राम" are two words.
            (r"(?<![\u0900-\u0963])(अन्त|अध|दु|नि|पुन|प्रात|बहि|चतु|स्वत):(?=[क-ह])", r"\1"),
            # A nasal with halant before a stop of its own class is what the anusvara abbreviates; not in the
            # verb ending न्थ्यो, which stemmers know by that spelling.
            ("ङ्(?=[क-घ])|ञ्(?=[च-झ])|ण्(?=[ट-ढ])|न्(?=[तदध]|थ(?!्य|े$|े[^ऀ-ॣ]))|म्(?=[प-भ])", "ं"),
        ),
        # Snowball takes one off and does not know most of these (सरकारबाट stays whole).
        postpositions=(
            "ले लाई को का की मा हरू हरु सँग सँगै बाट देखि सम्म सित तर्फ भित्र प्रति द्वारा सहित अनुसार भर पछि अघि माथि"
            " मुनि बीच बारे सम्बन्धी विरुद्ध बाहेक तिर झैँ जस्तै मात्र"
        ),
        stemmer="nepali",
        final_signs="ािीुूेैोौं",
        spelling={"ी": "ि", "ू": "ु", "ई": "इ", "ऊ": "उ", "श": "स", "ष": "स", "ण": "न", "व": "ब"},
        # महत्त्व is as often महत्व; older print doubles after र (कार्य्यालय); महान् and महान.
        variants=((r"([क-ह])्(?=\1्[क-ह])|(?<=र्)([क-ह])्(?=\2)", ""), (r"(?<=.)्$", "")),
    ),
    "Bengali": Script(
        0x980,
        dropped="\u0981",  # chandrabindu: চাঁদ is as often typed চাদ
        sequences=(("অা", "আ"), ("ৎ", "ত্"), ("ৰ", "র")),
        patterns=(("ঙ্(?=[ক-ঘ])", "ং"),),
        spelling={"ী": "ি", "ূ": "ু", "ঈ": "ই", "ঊ": "উ", "শ": "স", "ষ": "স", "ণ": "ন"},
    ),
    "Telugu": Script(
        0xC00,
        dropped="\u0c01",
        patterns=(("ఙ్(?=[క-ఘ])|ఞ్(?=[చ-ఝ])|ణ్(?=[ట-ఢ])|న్(?=[త-ధ])|మ్(?=[ప-భ])", "ం"),),
    ),
    "Latin": Script(0, stemmer="english"),
}
"""Hindi and Marathi take the Devanagari row: the language of a question of two words cannot be told, and a
word must fold alike in passage and question. No spelling folds in Telugu: vowel length tells words apart."""

FULL_STOPS: dict[str, str] = {
    "mr": "डॉ रु क्र श्री श्रीमती कु सौ प्रा इ स पृ उदा वि मा न नं क ता जि अॅड",
    "te": "డా శ్రీ రూ క్రీ శ పూ నం ఎ బి సి ఎన్ కె పి",
}
"""Languages in Indic letters whose sentences end with ``.``, each with what it abbreviates so. In the others
``.`` only abbreviates, and the danda ends."""


def _pairs(flat: str) -> dict[str, str]:
    parts = flat.split()
    return dict(zip(parts[::2], parts[1::2], strict=True))


CONSONANTS = _pairs(
    "क k ख kh ग g घ gh ङ ng च ch छ chh ज j झ jh ञ ny ट t ठ th ड d ढ dh ण n त t थ th द d ध dh न n प p फ ph ब b"
    " भ bh म m य y र r ल l ळ l व v श sh ष sh स s ह h"
)
"""Latin letters of a consonant without its vowel. Other Indic blocks have theirs in the same places."""
VOWELS = _pairs("अ a आ aa इ i ई ii उ u ऊ uu ऋ ri ए e ऐ ai ओ o औ au ऍ e ऑ o ऎ e ऒ o")
VOWEL_SIGNS = _pairs("ा aa ि i ी ii ु u ू uu ृ ri े e ै ai ो o ौ au ॅ e ॉ o ॆ e ॊ o")
