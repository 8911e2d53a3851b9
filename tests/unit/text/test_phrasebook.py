"""Properties of what the phrasebook writes, looked up independently of how it was written."""

import os
import re
import subprocess
import sys
from collections import defaultdict
from itertools import islice, pairwise
from pathlib import Path

import pytest

from glassformer.errors import ConfigError, DataError
from glassformer.text.phrasebook import (
    Level,
    Phrase,
    english_words,
    french_words,
    generate,
    generator,
    join_english,
    join_french,
    write_corpus,
)
from glassformer.text.phrasebook.lexicon import load

ELIDABLE = {"le", "la", "je", "ne", "de", "que", "me", "te", "se"}
ELIDED = {"l'", "j'", "n'", "d'", "qu'", "m'", "t'", "s'", "c'"}
ASPIRATED_WORDS = """
    hache haches haie haies haine hall halls hamac hamacs hambourg hamburger hamburgers hamster
    hamsters hanche hanches handball hangar hangars hanoï haricot haricots harpe harpes haut haute
    hauts hautes hautbois haut-parleur haut-parleurs hennir hennit hennissent hennissait hennissaient
    henni hennira henniront hérisson hérissons héron hérons héros hêtre hêtres hibou hiboux hindi
    hochet hochets hockey homard homards hongrie hongrois hongroise hongroises honte hot-dog hot-dogs
    huit hurler hurle hurlons hurlez hurlent hurlais hurlait hurlions hurliez hurlaient hurlé
    hurlerai hurlera hurlerons hurlerez hurleront hutte huttes onze yacht yachts yaourt yaourts yoga
    yo-yo
"""
ASPIRATED = set(ASPIRATED_WORDS.split())
VOWEL = re.compile(r"[aàâeéèêëiîïoôuùûyœh]", re.IGNORECASE)
MASCULINE, FEMININE, SINGULAR, PLURAL = {"un", "le", "ce", "cet", "du", "au"}, {"une", "la", "cette"}, 1, 2
SINGULARS = MASCULINE | FEMININE | {"mon", "ma", "son", "sa", "notre", "votre", "leur", "chaque", "l'"}
PLURALS = {
    "les",
    "des",
    "ces",
    "mes",
    "ses",
    "nos",
    "vos",
    "leurs",
    "aux",
    "quelques",
    "plusieurs",
    "deux",
    "trois",
}
DETERMINER_WORDS = "the a an this that these those my your his her our their some several two three"
DETERMINERS = set(DETERMINER_WORDS.split())


@pytest.fixture(scope="module")
def phrases() -> list[Phrase]:
    return [*generate(10_000, 1, "simple"), *generate(10_000, 2, "full")]


def test_english_decides_french(phrases: list[Phrase]) -> None:
    translations: defaultdict[str, set[str]] = defaultdict(set)
    for phrase in phrases:
        translations[phrase.english].add(phrase.french)

    assert [pair for pair in translations.items() if len(pair[1]) > 1] == []


@pytest.mark.parametrize("level", ["simple", "full"])
def test_sentences_are_distinct(level: Level) -> None:
    sentences = [phrase.english for phrase in generate(5_000, 3, level)]

    assert len(set(sentences)) == len(sentences)


def test_a_sentence_begins_with_a_capital_and_ends_with_a_mark(phrases: list[Phrase]) -> None:
    for phrase in phrases:
        assert phrase.english[0].isupper() and phrase.french[0].isupper(), phrase
        assert phrase.english[-1] == phrase.french[-1] in ".?!", phrase
        if phrase.french[-1] in "?!":
            assert re.search(r"\w [?!]\Z", phrase.french), phrase
        assert re.search(r"\w[.?!]\Z", phrase.english), phrase


def test_text_is_plain(phrases: list[Phrase]) -> None:
    for phrase in phrases:
        for sentence in (phrase.english, phrase.french):
            assert re.fullmatch(r"[A-Za-zÀ-ÿŒœ',.?! -]+", sentence), sentence
            assert "  " not in sentence, sentence


def test_words_join_into_the_sentence_and_come_back(phrases: list[Phrase]) -> None:
    for phrase in phrases:
        assert join_english(phrase.english_words) == phrase.english
        assert join_french(phrase.french_words) == phrase.french
        assert english_words(phrase.english) == phrase.english_words
        assert french_words(phrase.french) == phrase.french_words


def test_alignments_point_at_words_and_are_sorted(phrases: list[Phrase]) -> None:
    for phrase in phrases:
        assert list(phrase.alignment) == sorted(set(phrase.alignment)), phrase
        for i, j in phrase.alignment:
            assert 0 <= i < len(phrase.english_words) and 0 <= j < len(phrase.french_words), phrase


def test_every_word_is_aligned(phrases: list[Phrase]) -> None:
    """Function words too, but for the article of a body part (my back: mal au dos)."""
    for phrase in phrases:
        english, french = {i for i, _ in phrase.alignment}, {j for _, j in phrase.alignment}
        loose = {phrase.english_words[i] for i in range(len(phrase.english_words)) if i not in english}
        loose |= {phrase.french_words[j] for j in range(len(phrase.french_words)) if j not in french}

        assert loose <= {"la", "l'"}, (phrase, loose)


def test_names_are_aligned_with_themselves(phrases: list[Phrase]) -> None:
    names = {name.english[0] for kind in ("male", "female") for name in load("full").names[kind]} - {"Rose"}
    for phrase in phrases:
        for i, j in phrase.alignment:
            if phrase.english_words[i] in names:
                assert phrase.french_words[j] == phrase.english_words[i], phrase


def test_elision_is_made_where_it_must_be_and_only_there(phrases: list[Phrase]) -> None:
    for phrase in phrases:
        for word, following in pairwise(phrase.french_words):
            takes_elision = bool(VOWEL.match(following)) and following.lower() not in ASPIRATED
            if word.lower() in ELIDABLE:
                assert not takes_elision, phrase
            if word.lower() in ELIDED:
                assert takes_elision, phrase


def test_prepositions_and_articles_contract(phrases: list[Phrase]) -> None:
    for phrase in phrases:
        pairs = set(pairwise(word.lower() for word in phrase.french_words))

        assert not pairs & {
            ("à", "le"),
            ("à", "les"),
            ("de", "le"),
            ("de", "les"),
            ("de", "des"),
            ("de", "du"),
        }, phrase


def test_adjectives_and_determiners_take_their_form_before_a_vowel(phrases: list[Phrase]) -> None:
    for phrase in phrases:
        for word, following in pairwise(phrase.french_words):
            vowel = bool(VOWEL.match(following)) and following.lower() not in ASPIRATED
            if word.lower() in ("bel", "nouvel", "vieil", "cet"):
                assert vowel, phrase
            if word.lower() in ("ma", "sa"):
                assert not vowel, phrase


def nouns() -> dict[str, set[tuple[str, int]]]:
    """French noun forms of one word, with every gender and number they may have."""
    found: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
    for members in load("full").nouns.values():
        for noun in members:
            if len(noun.french) == 1:
                found[noun.french[0].removeprefix("*")].add((noun.gender, SINGULAR))
                found[noun.french_plural[0].removeprefix("*")].add((noun.gender, PLURAL))
    found["livre"].add(("f", SINGULAR))  # a pound
    found["livres"].add(("f", PLURAL))
    return found


def adjectives() -> dict[str, set[tuple[str, int]]]:
    """French adjective forms, with every gender and number they may have."""
    found: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
    for adjective in load("full").adjectives:
        forms = (("m", SINGULAR), ("f", SINGULAR), ("m", PLURAL), ("f", PLURAL))
        for form, agreement in zip(adjective.french, forms, strict=True):
            found[form.removeprefix("*")].add(agreement)
        if adjective.before_vowel:
            found[adjective.before_vowel].add(("m", SINGULAR))
    return found


def determined(word: str) -> set[tuple[str, int]]:
    """The genders and numbers that a determiner goes with."""
    numbers = {SINGULAR} if word in SINGULARS else {PLURAL} if word in PLURALS else {SINGULAR, PLURAL}
    genders = {"m"} if word in MASCULINE else {"f"} if word in FEMININE else {"m", "f"}
    return {(gender, number) for gender in genders for number in numbers}


def test_determiner_adjective_and_noun_agree(phrases: list[Phrase]) -> None:
    known_nouns, known_adjectives = nouns(), adjectives()
    checked = 0
    for phrase in phrases:
        sources = defaultdict(set)
        for i, j in phrase.alignment:
            sources[j].add(phrase.english_words[i].lower())
        words = [word.lower() for word in phrase.french_words]
        for j, word in enumerate(words[:-2]):
            pronoun = sources[j] == {"her"} and word in ("la", "l'")
            if pronoun or not sources[j] & DETERMINERS or word not in SINGULARS | PLURALS:
                continue
            agreement = determined(word)
            k = j + 1
            if words[k] in known_adjectives and words[k + 1] in known_nouns and words[k] not in known_nouns:
                agreement &= known_adjectives[words[k]]
                k += 1
            if words[k] not in known_nouns:
                continue
            agreement &= known_nouns[words[k]]
            assert agreement, phrase
            after = phrase.french_words[k + 1]
            english_after = [i for i, target in phrase.alignment if target == k + 1]
            english_noun = [i for i, target in phrase.alignment if target == k]
            if after in known_adjectives and english_after and english_after[0] + 1 == english_noun[0]:
                assert agreement & known_adjectives[after], phrase
            checked += 1

    assert checked > 10_000


def test_the_plural_article_before_an_adjective_is_de(phrases: list[Phrase]) -> None:
    adjective = r"petit|petite|grand|grande|beaux|belle|vieux|vieille|nouveaux|nouvelle|bon|bonne|joli|jolie"
    compound = r"pois|amie?s|déjeuners|cuillères"
    wrong = re.compile(rf"\bdes ({adjective})s? (?!{compound})\w")
    articles = {"the", "of", "from", "to", "about"}
    for phrase in phrases:
        if wrong.search(phrase.french):
            assert articles & set(phrase.english.split()), phrase


def test_negation_has_both_its_halves(phrases: list[Phrase]) -> None:
    for phrase in phrases:
        lower = [word.lower() for word in phrase.french_words]
        if re.search(r"\b(not|cannot)\b|n't\b", phrase.english) and len(lower) > 5:
            assert {"ne", "n'"} & set(lower), phrase
            assert {"pas", "personne"} & set(lower), phrase


def test_a_and_an_are_right(phrases: list[Phrase]) -> None:
    consonant_sound = re.compile(r"(uni|use|uku|ukr|eu)", re.IGNORECASE)
    for phrase in phrases:
        for word, following in pairwise(phrase.english_words):
            if word.lower() in ("a", "an"):
                vowel = bool(re.match(r"[aeioué]|hour|honest", following, re.IGNORECASE))
                vowel = vowel and not consonant_sound.match(following)
                assert (word.lower() == "an") == vowel, phrase


def test_english_verbs_agree_with_their_pronouns(phrases: list[Phrase]) -> None:
    wrong = re.compile(
        r"\b(I|We|They|You) (is|was(?<!I was)|has|does|goes|eats|sees)\b"
        r"|\b(He|She) (are|were|have|do|go|eat|see)\b"
    )
    for phrase in phrases:
        assert not wrong.search(phrase.english), phrase


def test_sentences_are_short(phrases: list[Phrase]) -> None:
    average = sum(len(phrase.english.split()) for phrase in phrases) / len(phrases)

    assert 4.5 < average < 8


@pytest.mark.parametrize(
    ("english", "french"),
    [
        (r"because it was too tired\.", r"parce qu'(il|elle) était trop fatiguée?\."),
        (
            r" bought an? \w+ and \w+ (ate|lost|sold) it\.",
            r" l'(ai|a|avons|avez|ont) (mangée?|perdue?|vendue?)\.",
        ),
        (r"^There (is|are) ", r"^Il (y a|n'y a pas) "),
        (r"more \w+ than ", r" plus [\w ]+ qu[e']"),
        (r"^Nobody ", r"^Personne n[e']"),
        (r" years old\.", r" ans\."),
        (r"^Let's ", r"ons(-nous)?\b.* !$"),
        (r"^(Do|Does|Did|Is|Are|Was|Were|Will|Can) .*\?", r"^Est-ce qu[e'].* \?$"),
        (r"^(She|They|We) went to (?!bed)", r"^(Elle est allée|Ils sont allés|Nous sommes allés) "),
        (r"\bin (France|Italy|Spain)\b", r"\ben (France|Italie|Espagne)\b"),
        (r"\b(in|to) Canada\b", r"\bau Canada\b"),
        (r"\b(in|to) the United States\b", r"\baux États-Unis\b"),
    ],
)
def test_patterns_translate_as_they_should(phrases: list[Phrase], english: str, french: str) -> None:
    found = [phrase for phrase in phrases if re.search(english, phrase.english)]

    assert found
    assert [phrase for phrase in found if not re.search(french, phrase.french)] == []


def test_the_same_seed_gives_the_same_sentences_whatever_the_hash_seed() -> None:
    code = (
        "from glassformer.text.phrasebook import generate\n"
        "for level in ('simple', 'full'):\n"
        "    for p in generate(200, 5, level): print(p.english, p.french, p.alignment)"
    )
    outputs = []
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONIOENCODING": "utf-8"}
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
        outputs.append(done.stdout)

    assert outputs[0] == outputs[1]
    assert list(generate(50, 5)) == list(islice(generate(200, 5), 50))
    assert list(generate(50, 5)) != list(generate(50, 6))


def test_importing_the_phrasebook_imports_no_torch() -> None:
    code = "import glassformer.text.phrasebook.generator, sys; sys.exit('torch' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0


def test_when_the_grammar_is_exhausted_sentences_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from glassformer.text.phrasebook import patterns_action

    monkeypatch.setattr(generator, "_SIMPLE", {patterns_action.greets: 1.0})
    sentences = [phrase.english for phrase in generate(12, 1, "simple")]

    assert len(set(sentences)) == 5
    assert len(set(sentences[:5])) == 5


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        next(generate(1, 1, "hard"))  # type: ignore[arg-type]

    assert str(caught.value) == "phrasebook: level = 'hard' is unknown; choose 'simple' or 'full'"


def test_a_corpus_has_three_parts_that_share_no_sentence(tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus", 3000, 200, 300, seed=7, level="simple")

    parts: dict[str, tuple[list[str], list[str]]] = {}
    for name, count in (("train", 3000), ("valid", 200), ("test", 300)):
        english, french, align = (
            (tmp_path / "corpus" / f"{name}.{suffix}").read_text("utf-8").splitlines()
            for suffix in ("en", "fr", "align")
        )
        assert len(english) == len(french) == len(align) == count
        for one, other, links in zip(english, french, align, strict=True):
            pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
            assert pairs and all(
                i < len(english_words(one)) and j < len(french_words(other)) for i, j in pairs
            )
        parts[name] = english, french
    for side in (0, 1):
        train, valid, test = (set(parts[name][side]) for name in ("train", "valid", "test"))
        assert not (train & valid or train & test or valid & test)


def test_a_corpus_larger_than_the_grammar_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from glassformer.text.phrasebook import patterns_action

    monkeypatch.setattr(generator, "_SIMPLE", {patterns_action.greets: 1.0})
    monkeypatch.setattr(generator, "_PATIENCE", 50)
    with pytest.raises(DataError) as caught:
        write_corpus(tmp_path, 10, 0, 5, seed=1, level="simple")

    assert str(caught.value) == (
        f"{tmp_path / 'train'}: the grammar has no 10 sentences besides the others; ask for fewer"
    )
