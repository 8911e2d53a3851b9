"""Both engines as one session: whoever answers, each query gets what it would get alone."""

import random
import threading

import pytest

from glassformer.config import DecodeConfig
from glassformer.decoding import Translator
from glassformer.decoding.asked import Asked
from glassformer.decoding.hypothesis import Hypothesis, Query
from glassformer.decoding.sessions import EngineSession, NativeSession
from glassformer.errors import GlassformerError, InputError
from tests.support.make_copy_model import DIRECTORY, words

WAYS = [
    DecodeConfig(beam=1),
    DecodeConfig(beam=4, nbest=2),
    DecodeConfig(temperature=0.7, seed=5),
    DecodeConfig(beam=4, beam_groups=2, diversity=0.3, nbest=2),  # only PyTorch has it
]


@pytest.fixture(scope="module", params=["pytorch", "native"])
def translator(request: pytest.FixtureRequest) -> Translator:
    try:
        Translator.from_pretrained(DIRECTORY, engine=request.param)
    except GlassformerError as error:
        pytest.skip(f"no native engine here: {error}")
    return Translator.from_pretrained(DIRECTORY, engine="auto" if request.param == "native" else "pytorch")


def asked_of(translator: Translator, n: int) -> list[Asked]:
    sources = translator.framing.sources(words(random.Random(4), n))
    return [Asked(Query(ids, index=(i,)), WAYS[i % len(WAYS)]) for i, ids in enumerate(sources)]


def together(session: EngineSession, asked: list[Asked]) -> list[list[Hypothesis]]:
    """Three join in every step; a fourth joins and is taken out again."""
    found: list[list[Hypothesis]] = [[] for _ in asked]
    waiting, slots = list(enumerate(asked)), dict[int, int]()
    while waiting or slots:
        joining, waiting = waiting[:3], waiting[3:]
        slots |= dict(zip(session.add([each for _, each in joining]), (i for i, _ in joining), strict=True))
        if joining:
            (unwanted,) = session.add([joining[0][1]])
            session.remove(unwanted)
        for slot in session.step():
            found[slots.pop(slot)] = session.results(slot)
            session.remove(slot)
    return found


def test_each_query_is_answered_as_if_alone(translator: Translator) -> None:
    asked = asked_of(translator, 24)
    found = together(EngineSession(translator.engines), asked)

    for each, hypotheses in zip(asked, found, strict=True):
        (alone,), _ = translator.engines.decode([each.query], each.config)
        assert [hypothesis.ids for hypothesis in hypotheses] == [hypothesis.ids for hypothesis in alone]
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx(
            [hypothesis.score for hypothesis in alone], abs=1e-4
        )


def test_a_refused_query_adds_nothing(translator: Translator) -> None:
    session = EngineSession(translator.engines)
    good = asked_of(translator, 1)[0]
    with pytest.raises(InputError):
        session.add([good, Asked(Query(good.query.ids, prefix=(7,) * 32), WAYS[0])])

    assert session.step() == []


def test_what_is_certain_begins_the_result(translator: Translator) -> None:
    session = EngineSession(translator.engines)
    (slot,) = session.add(asked_of(translator, 1))
    seen: tuple[int, ...] = ()
    while slot not in session.step():
        seen = session.certain(slot).ids

    assert seen and session.results(slot)[0].ids[: len(seen)] == seen


def test_many_sentences_are_shared_among_threads() -> None:
    try:
        translator = Translator.from_pretrained(DIRECTORY, engine="native")
    except GlassformerError as error:
        pytest.skip(f"no native engine here: {error}")
    assert translator.engines.native is not None
    engine = translator.engines.native.engine
    asked = [Asked(each.query, WAYS[1]) for each in asked_of(translator, 40)]
    found, shares = {}, {}
    for n_threads in (1, 3):
        engine.threads = n_threads
        session = EngineSession(translator.engines)
        found[n_threads] = [(each.ids, each.score) for one in all_at_once(session, asked) for each in one]
        shares[n_threads] = session.n_shares

    assert shares == {1: 1, 3: 4}
    assert found[3] == found[1]


def test_no_share_waits_for_a_slower_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one share is held up in its step, the sentences of the others are decoded to their end."""
    try:
        translator = Translator.from_pretrained(DIRECTORY, engine="native")
    except GlassformerError as error:
        pytest.skip(f"no native engine here: {error}")
    assert translator.engines.native is not None
    translator.engines.native.engine.threads = 2
    held, own_step = threading.Event(), NativeSession.step
    slow: list[NativeSession] = []

    def step(self: NativeSession) -> list[int]:
        slow.extend([self] if not slow else [])
        if self is slow[0]:
            assert held.wait(60)
        return own_step(self)

    monkeypatch.setattr(NativeSession, "step", step)
    session = EngineSession(translator.engines)
    slots = session.add([Asked(each.query, WAYS[1]) for each in asked_of(translator, 24)])
    done: set[int] = set()
    while len(done) < 8:  # none of them held up
        done |= set(session.step())
    held.set()
    while len(done) < len(slots):
        done |= set(session.step())

    assert session.n_shares > 1 and done == set(slots)


def all_at_once(session: EngineSession, asked: list[Asked]) -> list[list[Hypothesis]]:
    places = {slot: i for i, slot in enumerate(session.add(asked))}
    found: list[list[Hypothesis]] = [[] for _ in asked]
    while places:
        for slot in session.step():
            found[places.pop(slot)] = session.results(slot)
            session.remove(slot)
    return found
