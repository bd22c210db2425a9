"""The words of a note: what says something is kept, what says nothing is not, and a question is read as a note is."""

from __future__ import annotations

import unicodedata

import pytest

from small_cases import each
from whence.core.errors import SettingError
from whence.text import analyzer
from whence.text.analyzer import LANGUAGES, NO_LANGUAGE, QUERY_STOP_WORDS, ProseLanguage, parts, prose_language

#: A sentence of each language, and those of its words that say something.
SENTENCES = {
    "danish": ("Vi har ikke slettet filerne, fordi serveren var langsom.", "slettet filerne serveren langsom"),
    "dutch": ("Waarom hebben we de oude server in Utrecht nog niet vervangen?", "oude server utrecht vervangen"),
    "english": ("She didn't say why we're using the slower queue for his invoices.", "say using slower queue invoices"),
    "finnish": ("Miksi palvelin ei ole vielä lähettänyt laskua, kun se on maksettu?", "palvelin lähettänyt laskua maksettu"),
    "french": ("L'équipe n'a pas encore migré la base qu'elle utilise à Lyon.", "équipe migré base utilise lyon"),
    "german": ("Warum haben wir die Datenbank für Köln nicht auf den neuen Rechner gelegt?", "datenbank köln neuen rechner gelegt"),
    "hungarian": ("Miért nem törölte a szerver az API-ban lévő régi kulcsot?", "törölte szerver api lévő régi kulcsot"),
    "italian": ("Perché l'archivio dell'ufficio non è stato copiato con gli altri dati?", "archivio ufficio stato copiato altri dati"),
    "norwegian": ("Hvorfor har vi ikke flyttet nøklene til den raske tjeneren?", "flyttet nøklene raske tjeneren"),
    "portuguese": ("Por que não apagámos as faturas que estão na fila de Lisboa?", "apagámos faturas fila lisboa"),
    "romanian": ("De ce nu s-a șters cheia veche din fișierul pe care îl folosim?", "șters cheia veche fișierul folosim"),
    "russian": ("Почему мы ещё не удалили старые ключи из базы данных?", "удалили старые ключи базы данных"),
    "spanish": ("¿Por qué no se han borrado las claves antiguas que están en la base?", "borrado claves antiguas base"),
    "swedish": ("Varför har vi inte flyttat nycklarna till den snabba servern?", "flyttat nycklarna snabba servern"),
    "turkish": ("Neden bu sunucu eski anahtarları API'den hala silmedi?", "sunucu eski anahtarları api silmedi"),
}
#: Two forms of a word that are found under the same.
FORMS = {
    "danish": ("serveren", "servere"),
    "dutch": ("sleutel", "sleutels"),
    "english": ("invoices", "invoiced"),
    "finnish": ("laskua", "laskut"),
    "french": ("clés", "clé"),
    "german": ("rechner", "rechners"),
    "hungarian": ("kulcsok", "kulcs"),
    "italian": ("archivio", "archivi"),
    "norwegian": ("tjeneren", "tjenere"),
    "portuguese": ("faturas", "fatura"),
    "romanian": ("fișierul", "fișierele"),
    "russian": ("ключи", "ключей"),
    "spanish": ("claves", "clave"),
    "swedish": ("nycklarna", "nycklar"),
    "turkish": ("anahtarları", "anahtar"),
}


@each("name", LANGUAGES)
def test_a_sentence_keeps_the_words_that_say_something_and_loses_the_others(name):
    sentence, expected = SENTENCES[name]
    assert prose_language(name).content_words(sentence) == expected.split()


@each("name", LANGUAGES)
def test_two_forms_of_a_word_are_found_under_the_same(name):
    one, other = FORMS[name]
    assert one != other
    assert prose_language(name).stem(one) == prose_language(name).stem(other)


@each("name", LANGUAGES)
def test_a_list_holds_only_words_that_the_split_can_give(name):
    """A word that is written in another way in a list than it leaves the split would never be left out."""
    listed = prose_language(name).stop_words
    assert 80 <= len(listed) <= 180
    assert [word for word in sorted(listed) if parts(word) != [word]] == []


def test_every_list_belongs_to_a_language():
    assert sorted(path.stem for path in (analyzer._STOP_WORDS / "languages").iterdir()) == sorted(LANGUAGES)


def test_english_leaves_out_of_notes_at_least_what_it_leaves_out_of_code():
    english = prose_language("english").stop_words
    assert sorted(QUERY_STOP_WORDS - english) == []
    assert set("he she her his him about t re ve ll d m don didn doesn isn wasn aren also just very any".split()) <= english


@each("word", "first last new old time work may us bin test error before after".split())
def test_what_people_ask_for_is_not_left_out(word):
    assert prose_language("english").content_words(word) == [word]


@each(
    ("text", "expected"),
    [
        ("parseRequest", "parse request parserequest"),
        ("max_retry_count = 3", "max retry count maxretrycount 3"),
        ("HTTPServer.run()", "http server httpserver run"),
        ("is_valid", "valid isvalid"),
        ("doIt", "doit"),
        ("the größeÄndern method", "größe ändern größeändern method"),
        ("commit 20240131 in 2024", "commit 2024"),
    ],
)
def test_an_identifier_gives_its_parts_and_its_whole(text, expected):
    """Its parts may be words that say nothing; its whole never is."""
    assert " ".join(prose_language("english").content_words(text)) == expected


def test_none_keeps_everything_as_it_is_written():
    nothing = prose_language(NO_LANGUAGE)
    assert nothing.content_words("Why we don't use the caches") == "why we don t use the caches".split()
    assert nothing.stem("caches") == "caches"


@each("name", ["klingon", "", "English", "porter", "../english"])
def test_an_unknown_language_is_refused_with_the_names_that_are_allowed(name):
    with pytest.raises(SettingError, match=r"memory\.language") as refused:
        ProseLanguage(name)
    assert repr(name) in str(refused.value)
    assert all(allowed in refused.value.hint for allowed in (*LANGUAGES, NO_LANGUAGE))


@each("name", LANGUAGES)
def test_a_question_finds_what_a_note_is_kept_under(name):
    """However a sentence is written, it gives the same words: as a note, as a question, or with only what says something."""
    language = prose_language(name)
    sentence, _ = SENTENCES[name]
    kept = [language.stem(word) for word in language.content_words(sentence)]
    assert [language.stem(word) for word in language.content_words(sentence.rstrip(".?").lower() + " ???")] == kept
    assert [language.stem(word) for word in language.content_words(" ".join(language.content_words(sentence)))] == kept


def test_a_text_that_says_nothing_has_no_words():
    assert prose_language("english").content_words("How do I do that, and why?") == []
    assert prose_language("english").content_words("") == []


def test_a_letter_is_the_same_however_it_is_encoded():
    assert prose_language("german").content_words(unicodedata.normalize("NFD", "für die Übersicht")) == ["übersicht"]
    assert prose_language("turkish").content_words("\u0130le \u0130stanbul'da") == ["istanbul"]
