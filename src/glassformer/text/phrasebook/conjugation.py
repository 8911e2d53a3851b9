"""French verbs in the forms that the phrasebook uses."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from glassformer.text.phrasebook.words import MARK

JE, TU, IL, NOUS, VOUS, ILS = range(6)
"""The six persons, as indices into every tuple of forms."""

_IMPERFECT = ("ais", "ais", "ait", "ions", "iez", "aient")
_FUTURE = ("ai", "as", "a", "ons", "ez", "ont")
_DOUBLING = ("appeler", "jeter", "épeler", "renouveler", "feuilleter")
_CLOSED_E = re.compile(r"é((?:ch|gn|gu|qu|[bcdfgpt][lr]|[b-df-hj-np-tv-z])er)\Z")
_MUTE_E = re.compile(r"e([b-df-hj-np-tv-z]er)\Z")


@dataclass(frozen=True, slots=True)
class Conjugation:
    """Every form of one verb; tuples go je, tu, il, nous, vous, ils."""

    infinitive: str
    present: tuple[str, ...]
    imperfect: tuple[str, ...]
    future: tuple[str, ...]
    conditional: tuple[str, ...]
    imperative: tuple[str, ...]
    """tu, nous, vous."""
    participle: str


@cache
def conjugate(infinitive: str) -> Conjugation:
    """The forms of a verb, by its model if it has one, else by the rules of -er, -ir and -re."""
    plain = infinitive.removeprefix(MARK)
    model = _models().get(plain)
    if model is not None:
        found = _by_model(plain, model)
    elif plain.endswith("er"):
        found = _er_verb(plain)
    elif plain.endswith("ir"):
        found = _ir_verb(plain)
    else:
        found = _re_verb(plain)
    return _marked(found) if infinitive.startswith(MARK) else found


def agree(participle: str, gender: str, plural: bool) -> str:
    """A past participle in the gender and number it agrees with."""
    if participle == "dû" and (gender == "f" or plural):
        participle = "du"
    feminine = participle + "e" if gender == "f" else participle
    return feminine if not plural or feminine.endswith("s") else feminine + "s"


@cache
def _models() -> dict[str, dict[str, Any]]:
    text = files("glassformer.text.phrasebook").joinpath("data/conjugation.toml").read_text("utf-8")
    return {verb: model for model in tomllib.loads(text)["model"] for verb in model["verbs"].split()}


def _by_model(infinitive: str, model: dict[str, Any]) -> Conjugation:
    root = infinitive.removesuffix(model["ending"])
    present = _with_root(root, model["present"].split())
    imperfect = root + model["imperfect"] if "imperfect" in model else present[NOUS].removesuffix("ons")
    future = root + model["future"] if "future" in model else infinitive.removesuffix("e")
    imperative = (
        _with_root(root, model["imperative"].split()) if "imperative" in model else _imperative(present)
    )
    return _assemble(infinitive, present, imperfect, future, imperative, root + model["participle"])


def _with_root(root: str, forms: list[str]) -> tuple[str, ...]:
    return tuple(form if form == "-" else root + form for form in forms)


def _imperative(present: tuple[str, ...]) -> tuple[str, ...]:
    """tu, nous, vous of the present; an -er verb and its like drop the s of tu."""
    tu = present[TU].removesuffix("s") if present[TU].endswith("es") else present[TU]
    return tu, present[NOUS], present[VOUS]


def _assemble(
    infinitive: str,
    present: tuple[str, ...],
    imperfect_stem: str,
    future_stem: str,
    imperative: tuple[str, ...],
    participle: str,
) -> Conjugation:
    return Conjugation(
        infinitive,
        present,
        tuple(_soften(imperfect_stem, ending) for ending in _IMPERFECT),
        tuple(future_stem + ending for ending in _FUTURE),
        tuple(future_stem + ending for ending in _IMPERFECT),
        imperative,
        participle,
    )


def _soften(stem: str, ending: str) -> str:
    """A stem and its ending, with g and c kept soft before a and o."""
    if ending[0] in "ao":
        if stem.endswith("g"):
            return stem + "e" + ending
        if stem.endswith("c"):
            return stem[:-1] + "ç" + ending
    return stem + ending


def _er_verb(infinitive: str) -> Conjugation:
    stem = infinitive[:-2]
    strong, future = _strong_stem(infinitive)
    present = (
        strong + "e",
        strong + "es",
        strong + "e",
        _soften(stem, "ons"),
        stem + "ez",
        strong + "ent",
    )
    return _assemble(infinitive, present, stem, future, _imperative(present), stem + "é")


def _strong_stem(infinitive: str) -> tuple[str, str]:
    """The stem before a mute ending, and the stem of the future."""
    stem = infinitive[:-2]
    if infinitive.endswith("yer"):
        strong = stem[:-1] + "i"
    elif infinitive.endswith(_DOUBLING):
        strong = stem + stem[-1]
    elif _MUTE_E.search(infinitive):
        strong = _MUTE_E.sub(r"è\1", infinitive)[:-2]
    elif _CLOSED_E.search(infinitive):
        # The future keeps its é in the traditional spelling: il préférera.
        return _CLOSED_E.sub(r"è\1", infinitive)[:-2], infinitive
    else:
        strong = stem
    return strong, strong + "er"


def _ir_verb(infinitive: str) -> Conjugation:
    stem = infinitive[:-2]
    present = tuple(stem + ending for ending in ("is", "is", "it", "issons", "issez", "issent"))
    return _assemble(infinitive, present, stem + "iss", infinitive, _imperative(present), stem + "i")


def _re_verb(infinitive: str) -> Conjugation:
    stem = infinitive[:-2]
    present = tuple(stem + ending for ending in ("s", "s", "", "ons", "ez", "ent"))
    return _assemble(infinitive, present, stem, infinitive[:-1], _imperative(present), stem + "u")


def _marked(plain: Conjugation) -> Conjugation:
    """The same forms with the mark of an aspirated h (``*hurler``)."""

    def mark(forms: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(MARK + form for form in forms)

    return Conjugation(
        MARK + plain.infinitive,
        mark(plain.present),
        mark(plain.imperfect),
        mark(plain.future),
        mark(plain.conditional),
        mark(plain.imperative),
        MARK + plain.participle,
    )
