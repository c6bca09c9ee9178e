import pytest

from rag_platform.answering.negation import denied
from rag_platform.answering.support import Claim, cited, claims_of, support, without_marks

TAX = (
    "कल्पनापुर नगरपालिकाको सम्पत्ति कर सूचना। सम्पत्ति कर २०८२ मङ्सिर २० गतेभित्र बुझाउनुपर्छ। कात्तिक मसान्तभित्र कर"
    " बुझाउने करदाताले १० प्रतिशत छुट पाउँछन्, तर त्यसपछि छुट पाइँदैन। म्याद नाघेपछि लाग्ने करमा १२ प्रतिशत विलम्ब शुल्क"
    " थपिन्छ। राजस्व शाखा भवनको कोठा नम्बर १०४ मा छ। ज्येष्ठ नागरिकका लागि वडा नम्बर ४ र ७ मा छुट्टै काउन्टर छ।"
)
LIBRARY = (
    "पुस्तकालय बिहान ९ बजे खुल्छ र साँझ ६ बजे बन्द हुन्छ। केन्द्रीय पुस्तकालय प्रत्येक मङ्गलबार बन्द रहनेछ। सदस्यले एक"
    " पटकमा तीन वटा पुस्तक चौध दिनका लागि लैजान पाउँछ। विद्यार्थीले सदस्यता शुल्क तिर्नुपर्दैन। सन्दर्भ पुस्तक"
    " बाहिर लैजान पाइँदैन। पुस्तक हराउनेलाई मूल्यको दोब्बर जरिबाना हुन्छ। समितिको अध्यक्ष सीता कुमारी राई हुन्।"
)
BUDGET = (
    "आर्थिक वर्ष २०८२/८३ को कुल बजेट ८४ करोड ५० लाख रुपैयाँ छ। शिक्षाले २,४५० लाख रुपैयाँ र स्वास्थ्यले १,०५० लाख"
    " रुपैयाँ पाएको छ। बजेट नगर सभाबाट २०८२ असार २५ गते पारित भयो। गत वर्ष अधुरा रहेका तीन वटा पुल यस वर्ष पनि बनेनन्।"
)
DENGUE = (
    "Dengue is spread by the Aedes mosquito. It does not spread from person to person. Patients should not"
    " take aspirin or ibuprofen, because they raise the risk of bleeding. Paracetamol may be taken every six"
    " hours. The health post is open from 10 am to 5 pm, except on Saturdays. No vaccine is available at the"
    " ward office. Dr. Maya Gurung leads the dengue unit, which has 12 beds."
)

SUPPORTED = [
    (TAX, "सम्पत्ति कर २०८२ मङ्सिर २० गतेभित्र बुझाउनुपर्छ।"),
    (TAX, "सम्पत्ति कर मंसिर 20 गतेभित्र बुझाउनुहोला।"),
    (TAX, "कात्तिक मसान्तभित्र कर बुझाए 10 प्रतिशत छुट पाइन्छ।"),
    (TAX, "त्यसपछि छुट पाइँदैन।"),
    (TAX, "म्याद नाघेपछि १२ प्रतिशत विलम्ब शुल्क लाग्छ।"),
    (TAX, "राजस्व शाखा कोठा नम्बर १०४ मा छ।"),
    (TAX, "वडा नम्बर ४ र ७ मा ज्येष्ठ नागरिकलाई छुट्टै काउन्टर छ।"),
    (LIBRARY, "पुस्तकालय बिहान ९ बजे खुल्छ।"),
    (LIBRARY, "पुस्तकालय साँझ ६ बजे बन्द हुन्छ।"),
    (LIBRARY, "केन्द्रीय पुस्तकालय मङ्गलबार बन्द रहन्छ।"),
    (LIBRARY, "सदस्यले ३ वटा पुस्तक १४ दिनका लागि लैजान पाउँछ।"),
    (LIBRARY, "विद्यार्थीले सदस्यता शुल्क तिर्नुपर्दैन।"),
    (LIBRARY, "सन्दर्भ पुस्तक बाहिर लैजान पाइँदैन।"),
    (LIBRARY, "समितिको अध्यक्ष सीता कुमारी राई हुन्।"),
    (BUDGET, "कुल बजेट ८४.५ करोड रुपैयाँ हो।"),
    (BUDGET, "शिक्षाले २४ करोड ५० लाख रुपैयाँ पाएको छ।"),
    (BUDGET, "शिक्षाले २,४५० लाख रुपैयाँ र स्वास्थ्यले १,०५० लाख रुपैयाँ पाएको छ।"),
    (BUDGET, "बजेट २०८२/३/२५ मा नगर सभाबाट पारित भयो।"),
    (BUDGET, "अधुरा तीन पुल यस वर्ष पनि बनेनन्।"),
    (DENGUE, "Dengue is spread by the Aedes mosquito."),
    (DENGUE, "It does not spread from person to person."),
    (DENGUE, "Patients should not take ibuprofen."),
    (DENGUE, "Paracetamol may be taken every 6 hours."),
    (DENGUE, "The health post opens from 10 am to 5 pm except on Saturdays."),
    (DENGUE, "No vaccine is available."),
    (DENGUE, "The dengue unit has twelve beds."),
]
DENIED = [
    (TAX, "कात्तिक मसान्तभित्र कर बुझाउने करदाताले १० प्रतिशत छुट पाउँदैनन्।"),
    (TAX, "त्यसपछि पनि छुट पाइन्छ।"),
    (TAX, "म्याद नाघेपछि विलम्ब शुल्क थपिँदैन।"),
    (TAX, "राजस्व शाखा कोठा नम्बर १०४ मा छैन।"),
    (LIBRARY, "पुस्तकालय बिहान ९ बजे खुल्दैन।"),
    (LIBRARY, "केन्द्रीय पुस्तकालय मङ्गलबार बन्द हुँदैन।"),
    (LIBRARY, "विद्यार्थीले सदस्यता शुल्क तिर्नुपर्छ।"),
    (LIBRARY, "सन्दर्भ पुस्तक बाहिर लैजान पाइन्छ।"),
    (LIBRARY, "समितिको अध्यक्ष सीता कुमारी राई होइनन्।"),
    (BUDGET, "बजेट नगर सभाबाट पारित भएन।"),
    (BUDGET, "अधुरा रहेका तीन वटा पुल यस वर्ष बने।"),
    (DENGUE, "Dengue is not spread by the Aedes mosquito."),
    (DENGUE, "It spreads from person to person."),
    (DENGUE, "Patients should take aspirin or ibuprofen."),
    (DENGUE, "Paracetamol may not be taken every six hours."),
    (DENGUE, "A vaccine is available at the ward office."),
]
ALTERED = [
    (TAX, "सम्पत्ति कर २०८२ मङ्सिर २५ गतेभित्र बुझाउनुपर्छ।"),
    (TAX, "कात्तिक मसान्तभित्र कर बुझाउने करदाताले १२ प्रतिशत छुट पाउँछन्।"),
    (TAX, "म्याद नाघेपछि १० प्रतिशत विलम्ब शुल्क थपिन्छ।"),
    (TAX, "राजस्व शाखा कोठा नम्बर १४० मा छ।"),
    (LIBRARY, "पुस्तकालय बिहान ६ बजे खुल्छ।"),
    (LIBRARY, "सदस्यले पाँच वटा पुस्तक चौध दिनका लागि लैजान पाउँछ।"),
    (LIBRARY, "सदस्यले चौध वटा पुस्तक लैजान पाउँछ।"),
    (BUDGET, "कुल बजेट ८४ करोड ६० लाख रुपैयाँ छ।"),
    (BUDGET, "शिक्षाले १,०५० लाख रुपैयाँ पाएको छ।"),
    (BUDGET, "बजेट नगर सभाबाट २०८२ असार २६ गते पारित भयो।"),
    (BUDGET, "आर्थिक वर्ष २०८१/८२ को कुल बजेट ८४ करोड ५० लाख रुपैयाँ छ।"),
    (DENGUE, "Paracetamol may be taken every eight hours."),
    (DENGUE, "The dengue unit has 21 beds."),
    (DENGUE, "The health post is open from 10 am to 6 pm."),
]
INVENTED = [
    (TAX, "कर अनलाइनबाट पनि बुझाउन सकिन्छ।"),
    (TAX, "सुनकोशी नगरपालिकाको सम्पत्ति कर २०८२ मङ्सिर २० गतेभित्र बुझाउनुपर्छ।"),
    (LIBRARY, "समितिको अध्यक्ष हरिबहादुर थापा हुन्।"),
    (LIBRARY, "पुस्तकालय बिहान ९ बजे खुल्छ र त्यहाँ निःशुल्क इन्टरनेट छ।"),
    (LIBRARY, "केन्द्रीय पुस्तकालय प्रत्येक शनिबार बन्द रहनेछ।"),
    (BUDGET, "कृषिले २,४५० लाख रुपैयाँ पाएको छ।"),
    (BUDGET, "बजेट नगर प्रमुखबाट २०८२ असार २५ गते पारित भयो।"),
    (DENGUE, "Dr. Anita Gurung leads the dengue unit."),
    (DENGUE, "Dengue is spread by the Culex mosquito."),
    (DENGUE, "Patients should drink papaya juice."),
    (DENGUE, "The capital of Bangladesh is Chittagong with 99 billion aliens."),
]


def is_supported(passage: str, claim: str) -> bool:
    found = [support(one, [passage]) for one in claims_of(claim)]
    assert found
    return all(one is not None and one.passage == 1 for one in found)


@pytest.mark.parametrize(("passage", "claim"), SUPPORTED, ids=range(len(SUPPORTED)))
def test_what_the_passage_says_is_supported(passage: str, claim: str) -> None:
    assert is_supported(passage, claim)


@pytest.mark.parametrize(("passage", "claim"), DENIED, ids=range(len(DENIED)))
def test_a_claim_with_its_denial_turned_is_not(passage: str, claim: str) -> None:
    assert not is_supported(passage, claim)


@pytest.mark.parametrize(("passage", "claim"), ALTERED, ids=range(len(ALTERED)))
def test_another_number_or_day_is_not(passage: str, claim: str) -> None:
    assert not is_supported(passage, claim)


@pytest.mark.parametrize(("passage", "claim"), INVENTED, ids=range(len(INVENTED)))
def test_an_invented_name_or_fact_is_not(passage: str, claim: str) -> None:
    assert not is_supported(passage, claim)


def test_the_header_of_a_table_counts_in_its_rows_and_another_row_does_not() -> None:
    table = "| कक्षा | गणितको परीक्षा |\n| --- | --- |\n| ९ | पुस ९ गते |\n| ८ | पुस ६ गते |\n"
    assert is_supported(table, "कक्षा ९ को गणितको परीक्षा पुस ९ गते हुन्छ।")
    two = "| मिति | कक्षा ६ देखि ८ | कक्षा ९ र १० |\n| --- | --- | --- |\n| पुस ९ | विज्ञान | गणित |\n"
    assert is_supported(two, "मिति: पुस ९; कक्षा ६ देखि ८: विज्ञान; कक्षा ९ र १०: गणित।")
    assert not is_supported(two, "मिति: पुस १०; कक्षा ६ देखि ८: विज्ञान; कक्षा ९ र १०: गणित।")
    assert not is_supported(table, "कक्षा ९ को नेपालीको परीक्षा पुस ९ गते हुन्छ।")


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("राजस्व शाखा कोठा नम्बर १०४ मा छैन।", "denied"),
        ("राजस्व शाखा कोठा नम्बर १४० मा छ।", "the number 140 is not"),
        ("राजस्व शाखा बसपार्कमा छ।", "not in the passages: बसपार्क"),
    ],
)
def test_it_says_why(claim: str, reason: str) -> None:
    found = support(Claim(claim, ()), [LIBRARY, TAX])
    assert found is not None
    assert found.passage is None
    assert reason in found.reason


def test_the_passage_that_supports_is_named_and_another_script_is_not_judged() -> None:
    claim = Claim("राजस्व शाखा कोठा नम्बर १०४ मा छ।", (2,))
    found = support(claim, [LIBRARY, TAX])
    assert found is not None
    assert found.passage == 2
    assert support(claim, [DENGUE]) is None
    assert support(claim, []) is not None


def test_marks_are_read_in_both_digit_systems_and_belong_to_their_sentence() -> None:
    answer = "कर बुझाउनुपर्छ। [१] छुट पाइन्छ [2, ३]। [क] खण्ड हेर्नुहोस्।"
    assert cited(answer) == (1, 2, 3)
    assert [claim.citations for claim in claims_of(answer)] == [(1,), (2, 3), ()]
    assert without_marks("Pay it [1]. Now [2].") == "Pay it. Now."
    assert claims_of("हो। [1]") == []
    (quoted,) = claims_of("उनले भनिन्, “पुल बन्यो।” [2]")
    assert quoted.citations == (2,)


@pytest.mark.parametrize(
    ("word", "denies"),
    [
        ("हुँदैनन्", ""),
        ("सक्दैनन्", "सक्"),
        ("नबुझाएमा", "बुझाएमा"),
        ("गरेनन्", "गरे"),
        ("don't", ""),
        ("सोमबारबाहेक", ""),
    ],
)
def test_denials_are_recognised(word: str, denies: str) -> None:
    assert denied(word) == denies


@pytest.mark.parametrize(
    "word", ["नदी", "नगर", "नगरको", "ट्रेन", "दिन", "दुईदिन", "सम्मेलन", "नमुना", "नवीन", "note"]
)
def test_words_that_look_alike_deny_nothing(word: str) -> None:
    assert denied(word) is None


def test_a_number_after_no_is_no_denial() -> None:
    assert denied("No", ". 4") is None
    assert denied("No", " vaccine") == ""
