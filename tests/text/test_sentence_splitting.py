"""Sentence splitting: nothing is lost, and abbreviations do not end a sentence."""

import pytest

from annotated_transformer.text.sentence_splitting import split_sentences

TEXTS = {
    "en": ["Dr. Smith went home.", "It cost $3.50, i.e. nothing.", "Did he pay?", '"No!" he said.'],
    "de": ["Das ist z. B. gut.", "Dr. Meier kam am 3. Mai.", "„Komm!“, sagte er.", "Nein?"],
    "fr": ["Il dort !", "Vraiment ?", "Oui."],
    "zh": ["今天天气很好。", "我们去公园吧\uff01"],
    "xx": ["One.", "Two."],  # not a language
}


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("blank", [" ", "  ", " \t"])
def test_law_a_text_is_split_at_the_ends_of_its_sentences(language: str, blank: str):
    blank = "" if language == "zh" else blank
    assert split_sentences(blank.join(TEXTS[language]), language) == TEXTS[language]


def test_law_abbreviations_are_those_of_the_language():
    assert split_sentences("Am 3. Mai kam er.", "de") == ["Am 3. Mai kam er."]
    for german in ("DE", "de-CH", "de_AT"):
        assert split_sentences("Am 3. Mai kam er.", german) == ["Am 3. Mai kam er."]
    for english in ("en", "xx", ""):
        assert split_sentences("Am 3. Mai kam er.", english) == ["Am 3.", "Mai kam er."]
        assert split_sentences("It is by Dr. Smith.", english) == ["It is by Dr. Smith."]
    assert split_sentences("He left.She stayed.", "en") == ["He left.", "She stayed."]


@pytest.mark.parametrize("text", ["", " ", "  One.\n", "a\nb", "a\u2028b", "One.\ud800 Two."])
def test_law_a_single_sentence_stays_as_it_is(text: str):
    assert split_sentences(text, "en") == [text]


SPLIT = {  # where sentences end: "|"
    "de": """
        Er wohnt im 3. Stock. | Sie auch.
        Er hat 3. | Sie hat 5. | Tom hat 7. | Peter hat 9.
        Heute ist der 3. | Morgen ist der 4. | Ich komme am 5. | Sie nicht.
        Der 2. Weltkrieg endete 1945. | Danach war Frieden.
        Im 18. und 19. Jahrhundert. | Der 3., 4. und 5. Mann. | Am 1. oder 2. Tag.
        An ihrem 30. Geburtstag lief Beethovens 9. Sinfonie. | Er fährt 1. Klasse.
        Ludwig XIV. war König. | Das war Heinrich VIII. | Er hatte sechs Frauen. | Wilhelm I. Tudor?
        Das Spiel endete 3:2. | Bayern gewann mit dem 7:1. | Köln verlor 3 : 2. | Tom weinte.
        1. Die Katze schläft. | 2. Der Hund bellt. | 3. Ja!
        Es gibt zwei Gründe. | 1. Er ist alt. | 2. Sie ist müde.
        A. Die Katze. | B. Der Hund. | II. Das Pferd.
        Das ist z. B. Tom, d. h. er, u. a. Peter bzw. Nr. 5. | Sie ist Nr. 6. | Es ist S. 7.
        Die Fa. Müller, inkl. Tom, Kap. 3. | Er kaufte Brot, Butter usw. | Dann ging er.
        Er wohnt in der Hauptstr. 5. | Sie kam am 24.12.2020. | Er am 3. Okt. morgens. | Gut.
        Hallo! | ♪ Wie geht es? | 😊 Gut. ... :)
        Er liebt mich. | Ich mag. | Sie nicht. | Er hat einen Bart. | Tom auch. | Das ist seine Art. | Ja.
        Tom lief 9,8 s. | Köln gewann. | Siehe Art. II. | Das ist 44 v. Chr. geschehen.
        Ja … | Nein. | Vgl. S. 5 ff. | Das ist o. k. | Wir gehen. | Das ist Dipl.-Ing. Meier. | - Ja?
        (Das stimmt.) | Also los. | (Wirklich!) | „Gut.“ | Er traf die Firma (u. a.) Meier.
        """,
    "en": """
        I use Node.Js and ASP.NET on Amazon.Com. | It is a report.
        Ms. Lee and Mr. Fox live at No. 5. | He has 3. | She has 5.
        See p. 3, vol. 2, e.g. Fig. 4 vs. Table 5. | It is in the U.S. Army. | Approx. 30 came.
        That was Henry VIII. | He came at 5 p.m. | She came at 6 a.m. on Monday.
        We won 3-2. | They lost 3:2. | I am 30. | You are 20.
        1. The cat sleeps. | 2. The dog barks. | (3) It is No. 4.
        I. The cat. | II. The dog. | A. One. | B. Two.
        Hi! | 😊 How are you? | ♪ ♪ Fine. ***
        Ask me. | I said no. | Tom may. | We are ill. | OK. | It is 5 m. | Ouch!! | I left. | No. 5 is alive.
        "Is it me?" Tom asked. | "It is." | She left. | Henry VIII. was king on Mon. morning.
        (He left.) | She stayed (at 5 p.m. or so). | (Who?) | "Tom!" | So … | Yes.
        """,
}
CASES = [(language, line.strip()) for language in SPLIT for line in SPLIT[language].strip().splitlines()]


@pytest.mark.parametrize(("language", "marked"), CASES)
def test_law_numbers_and_decorations_end_no_sentence_but_sentences_end_after_them(language: str, marked: str):
    assert split_sentences(marked.replace(" |", ""), language) == marked.split(" | ")
