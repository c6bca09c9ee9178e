"""Which script and language a text is in: Nepali, English, both, Nepali in Latin letters, a neighbour.

Word lists of our own, no model: a question has ten words, and what tells languages apart in them are the
function words. Bangla and Telugu are told by their script, Hindi and Marathi from Nepali where they show two
function words or more; every other language is ``unknown``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import regex

__all__ = ["Language", "detect_language", "is_function_word", "romanized_score", "script_shares"]

Language = Literal["ne", "en", "mixed", "romanized", "hi", "mr", "bn", "te", "unknown"]

MINORITY_SHARE = 0.2
"""From this share of letters on, a second script makes a text mixed; below, it is a borrowed word."""
PLAUSIBLE_WORDS = 12
"""So many Latin words hold an English function word; if none does, the text is neither (bytes of a legacy
font, another language)."""

GARBLED_SHARE = 0.2
"""From this share of words with symbols inside on, Latin text is no language at all."""

_SCRIPTS = ("Devanagari", "Latin", "Bengali", "Telugu", "Arabic", "Cyrillic", "Greek", "Han", "Tibetan")
_SCRIPT_RUNS = regex.compile(
    "|".join(rf"(?P<{name}>[\p{{L}}&&\p{{Script={name}}}]+)" for name in _SCRIPTS) + r"|(?P<Other>\p{L})",
    regex.V1,
)
_LEGACY_BYTES = regex.compile(r"\p{Latin}[\[\]{}|\\;~^+=<>/\"]+\p{Latin}|\p{Ll}\p{Lu}")
"""Inside a word, no language has these: Devanagari of a legacy font read as Latin bytes has them all over."""
_DEVANAGARI_WORD = regex.compile("[\u0900-\u0963]+")
_ASSAMESE = regex.compile("[ৰৱ]")
_LATIN_WORD = regex.compile(r"\p{Latin}+(?:['’]\p{Latin}+)?")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NEPALI_WORDS = _words(
    """
    k ke kina kasari kaha kahaa kahan kahile kahiley kati katti kun kunai ko kasto kasta kasle kaslai kasko
    kosko kehi kohi kei koi kahilyai kasai kasaile kasailai ma maile malai mero mera hami haami hamro hamra
    hamilai hamile timi timro timile tapai tapaii tapain tapaiko tapailai tapaile u usle uslai usko uni unle
    unko unlai uniharu uhaa uhaan uhako wahan waha yo yi yas yasko yasto yasma yasle yasari tyo tyahi tyas
    tyasko tyasto tyaha tyahaa tyasma tyasle tyasari ti tini tinko tinle yaha yahaa yahan aafno aafnai afno
    aphno aphnai aafu afu aphu aafulai jo jun jasle jasto jasko jasma jaslai jaba jahile jati jasari sabai
    sabaile sabailai dherai dherei thorai ali alik ek dui tin char paanch pani ni nai ta hai la po
    lai le bata baata dekhi samma sanga sangai sita tira pachhi pachi paxi agadi aghi pahila pahile bich
    bichma bhitra bahira mathi tala muni najik najikai baare baarema barema bare lagi laagi nimti anusar
    bina bahek jastai haru harule harulai haruko harumaa haruma ra athawa athava tara kinabhane kinaki bhane
    bhanera bhanne bhanda bhandaa bhanya bhani tesaile tyasaile tyasailey yadi pheri feri aba ajha ahile
    ahiley ahilesamma aaja aja bholi hijo asti pahilo dosro tesro eutai euta euti auta arko arka aru aruko
    naya purano ramro ramrari naramro thulo sano sabbhanda kam badhi badi matra maatra
    ho hoina hoin hoena hun hunu hunuhunchha hunuhuncha hunuhunxa huncha hunchha hunxa hunchan hunne hune
    huna hudaina hundaina hunna hudai hudaa hunda hundaa hudaixa bhayo bhaye bhaeko bhayeko bhako bhaeka
    bhayeka bhaera bhayera bhai bhaisakyo bhaena bhayena bhae bhaepachi bhayepachhi cha chha xa chan chhan
    xan chaina chhaina xaina chhainan xainan chu chhu xu chhau thiyo thie thiyen thiena thiyena thieko thyo
    hola holan garna garnu garne garnuparchha garnuparcha garnuparxa garcha garchha garxa garchan garchhan
    garxan gareko gareka garera garda gardaa gardai garyo gare garnus garnuhos garau garaune garauna garaunu
    garaunuparcha garincha garinchha garinxa garyou gari garinu garine parcha parchha parxa parchan pardaina
    paryo pare pareko parne parna parnu parda sakincha sakinchha sakinxa sakcha sakchha sakxa sakne sakna
    sakinna sakdaina sakyo sakin sakiyo lagcha lagchha lagxa lagne lagyo lageko lagna lagdaina laagcha
    aaucha aauchha aaunchha auncha aauxa auxa aayo ayo aayeko aaeko aeko aaune aune aauna auna aaunu
    aaudaina jancha janchha janxa jaancha jane jaane jana jaana janu jaanu gayo gaye gaeko gayeko gako gaera
    dincha dinchha dinxa dine dina dinu diyo diye dieko diyeko diera linu lina line lincha linchha linxa
    liyo liye lieko liyeko liera khana khane khanu khancha khanchha khanxa khayo khaeko bhannu bhanna
    bhancha bhanchha bhanxa bhanyo bhanincha bhaninchha bhaninxa bhaneko rahecha rahechha rahexa raheko
    rahancha rahanchha rahanxa rahyo rahe rahane basne basna basnu bascha baschha basxa basyo baseko banne
    bancha banchha banxa banyo baneko banauna banaune banaunu banako banayo banaeko chahincha chahinchha
    chahinxa chahiyo chainchha chaincha chainxa chahine milcha milchha milxa milne milyo mileko paincha
    painchha painxa paine pauna paune paunu paucha pauchha pauxa paunchha payo paye paeko payeko herna herne
    hernu hercha herchha herxa heryo dekhincha dekhinchha dekhinxa dekhna dekhne dekhyo dekheko rakhna
    rakhne rakhnu rakhcha rakhchha rakhxa rakhyo rakheko khojne khojna thaha thahaa tha bujhna bujhne
    naam nam ghar gaun gaau sarkar sarkari kanun din barsa barsha mahina manche manchhe manis kura kaam
    paisa rupaiya thau thaau desh pradesh jilla nagarpalika gaupalika namaste dhanyabad kripaya hajur
    sambandhi sambandhit antargat dwara tarfa tarika karan kaaran arth matlab suru suruma antim bela belama
    samaya samay bhag bhaag thap tathya prakar kisim sthiti awastha abastha
    """
)
"""Question words and pronouns, particles, everyday verbs, the nouns of questions; as people type them."""

_HOMOGRAPHS = _words("line bare tin char la po ma ho ti u k jun tara ali tala euta bela kura dine")
"""Nepali words of the list that stand in English text, too, as words or in names and initials."""

_ENGLISH_WORDS = _words(
    """
    the a an of in on at to for from by with without about into over under between after before during and
    or but not no nor so if then than that this these those there here it its they them their he him his she
    her you your we our us i my is are was were be been being am do does did done has have had having will
    would can could shall should may might must what which who whom whose when where why how many much more
    most some any all each every both other another such only same own as also because while until against
    through up down out off again once very too just now new old first last one two three per via within
    upon among according make made get use used using give given take name list explain describe tell find
    long people year years time day government law act section article
    """
)

_OF_SCRIPT: dict[str, Language] = {"Bengali": "bn", "Telugu": "te"}
"""Languages that are told by their script."""

_DEVANAGARI_WORDS: dict[Language, frozenset[str]] = {
    "hi": _words(
        """
        है हैं था थी थीं और में से यह वह वे इस उस इन उन इसके उसके इनके उनके क्या क्यों कौन कैसे कब किस किसी लिए गया
        गई गए किया किए करने करता करते करती होता होती होते होने हुआ हुई हुए रहा रहे रही सकता सकते सकती चाहिए भी अपने
        अपना अपनी लेकिन दिया जाता जाती जाते मैं हम आप तुम कोई कुछ सभी नहीं
        """
    ),
    "mr": _words(
        """
        आहे आहेत आणि नाही नाहीत होते केले केली केला असे असून असतो असते असतात येथे येते येतो येतात तसेच किंवा म्हणून
        म्हणजे काय कसे कसा कशी कुठे कधी कोण कोणत्या कोणते त्याच्या त्यांच्या यांच्या यांनी त्यांनी करण्यात करण्यासाठी
        करावे करावा पासून झाली झाले झाला आपल्या आपण माझे हा हे
        """
    ),
    "ne": _words(
        """
        छ छन् छैन छैनन् हुन् हुन्छ हुँदैन हुने गर्ने गर्न गर्नु गरेको गरिएको भएको भएका भए भने भन्ने पनि र यो त्यो यस त्यस
        लागि हुनेछ गर्नेछ गर्दा गरी भई रहेको थियो थिए नै कुन किन कसरी कति हामी तपाईं उनी उनले यसको त्यसको
        """
    ),
}
"""Function words that one language of the script has and the others have not, or hardly."""
_GLUED = regex.compile(r"(?<=..)(?:को|लाई|हरू|हरु|बाट|सँग)$")
TELLING_WORDS = 2
"""So many function words make a Devanagari text Hindi or Marathi, if Nepali has fewer."""

_NEPALI_ENDING = regex.compile(
    r"(?:haru|lai|baa?ta|sanga|dekhi|samma|eko|eka|daina|dai|era|nchh?a|nxa|xa|xan|chhan|chha|parchh?a|nuhos|nus"
    r"|iyo|yo|aune|(?<![iaouey])ne|(?<![bptdgfzc])le|ko|ka|ki|ma|na|nu)$"
)
_ENGLISH_ENDING = regex.compile(
    r"(?:[ts]ions?|ings?|ment|ments|ness|ity|ities|ally|ly|ed|ous|ive|able|ible|ence|ance|ism|ist|ists"
    r"|ers|est|ful|less|ship|ght|ck|'s|’s|n't|ure|ogy|ics?)$"
)
_NEPALI_SPELLING = regex.compile(r"aa|chh|bh|dh|jh|kh|gh[aieu]|aau|ny[aeo]|ph[ai]|[td]y[aeo]")


def script_shares(text: str) -> dict[str, float]:
    """Return the share of each script among the letters, largest first; empty without letters.

    Vowel signs are not counted, so that a Devanagari syllable weighs about as much as a Latin one.

    >>> script_shares("नेपाल Nepal")
    {'Latin': 0.625, 'Devanagari': 0.375}
    """
    counts: dict[str, int] = {}
    for run in _SCRIPT_RUNS.finditer(text):
        name = run.lastgroup
        counts[name] = counts.get(name, 0) + len(run[0])
    total = sum(counts.values())
    return {name: n / total for name, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))}


def romanized_score(words: Sequence[str]) -> float:
    """Return how much lower-cased Latin words look like Nepali: above 0 more than like English.

    A function word votes 1, an ending or a spelling typical of one language votes a part of it.
    """
    score = 0.0
    for word in words:
        nepali, english = word in _NEPALI_WORDS, word in _ENGLISH_WORDS
        if nepali or english:
            score += nepali * (0.4 if word in _HOMOGRAPHS else 1.0) - english
        elif _ENGLISH_ENDING.search(word):
            score -= 0.5
        else:
            score += 0.5 * bool(len(word) > 3 and _NEPALI_ENDING.search(word))
            score += 0.3 * bool(_NEPALI_SPELLING.search(word))
    return score


def is_function_word(word: str) -> bool:
    """Return whether a lower-cased Latin word is a function word of Nepali or of English."""
    return word in _NEPALI_WORDS or word in _ENGLISH_WORDS


def _looks_garbled(text: str) -> bool:
    tokens = text.split()
    garbled = sum(1 for token in tokens if _LEGACY_BYTES.search(token))
    return garbled >= 2 and garbled / len(tokens) >= GARBLED_SHARE


def detect_language(text: str) -> Language:
    """Return the language: ``mixed`` of two scripts, ``romanized`` Nepali in Latin letters, or ``unknown``.

    >>> detect_language("नागरिकता certificate कसरी लिने?"), detect_language("nagarikta kasari line?")
    ('mixed', 'romanized')
    """
    shares = script_shares(text)
    latin = shares.get("Latin", 0.0)
    script = max(("Devanagari", *_OF_SCRIPT), key=lambda name: shares.get(name, 0.0))
    share = shares.get(script, 0.0)
    if share + latin < 0.5:
        return "unknown"
    if latin < MINORITY_SHARE:
        return _of_script(script, text)
    return "mixed" if share >= MINORITY_SHARE else _of_latin(text)


def _of_script(script: str, text: str) -> Language:
    """Return the language of a text in an Indic script."""
    if script == "Bengali" and _ASSAMESE.search(text):
        return "unknown"
    if script in _OF_SCRIPT:
        return _OF_SCRIPT[script]
    words = _DEVANAGARI_WORD.findall(text)
    votes = {language: sum(word in known for word in words) for language, known in _DEVANAGARI_WORDS.items()}
    best = max(votes, key=lambda language: votes[language])
    if best == "ne" or votes[best] < TELLING_WORDS:
        return "ne"
    nepali = votes["ne"] + sum(bool(_GLUED.search(word)) for word in words)
    return best if votes[best] > nepali else "ne"


def _of_latin(text: str) -> Language:
    if _looks_garbled(text):
        return "unknown"
    words = [word.lower() for word in _LATIN_WORD.findall(text)]
    if romanized_score(words) > 0:
        return "romanized"
    if len(words) >= PLAUSIBLE_WORDS and not any(word in _ENGLISH_WORDS for word in words):
        return "unknown"
    return "en"
