"""What waits is counted as it comes and goes; counting it anew gives the same."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from glassformer.config import DecodeConfig
from glassformer.decoding.asked import Asked
from glassformer.decoding.hypothesis import Query
from glassformer.serving.problems import Problem
from glassformer.serving.tickets import Call, Sentence, Ticket
from glassformer.serving.waiting import Waiting


class Nobody:
    """Does not listen."""

    def tokens(self, place: int, ids: Sequence[int], log_probabilities: Sequence[float]) -> None: ...

    def done(self, place: int, result: Any) -> None: ...

    def failed(self, problem: Problem) -> None: ...


def sentences(ticket: Ticket, lengths: Sequence[int]) -> list[Sentence]:
    config = DecodeConfig(beam=2)
    return [Sentence(ticket, i, "m", Asked(Query((1,) * n), config)) for i, n in enumerate(lengths)]


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.integers(1, 9), min_size=1, max_size=4)),
        st.tuples(st.just("call"), st.integers(1, 9)),
        st.tuples(st.just("take"), st.none()),
        st.tuples(st.just("take calls"), st.integers(1, 12)),
        st.tuples(st.just("forget"), st.integers(0, 20)),
    ),
    max_size=30,
)


@given(ACTIONS)
def test_it_knows_how_much_waits(actions: list[tuple[str, Any]]) -> None:
    waiting, tickets = Waiting(), []
    still: list[Sentence] = []
    calls: list[Ticket] = []
    for name, value in actions:
        if name == "add":
            tickets.append(Ticket(Nobody(), 0.0, sum(value)))
            still += (new := sentences(tickets[-1], value))
            waiting.add(new)
        elif name == "call":
            tickets.append(Ticket(Nobody(), 0.0, value))
            calls.append(tickets[-1])
            waiting.add_call(tickets[-1], Call((value % 2,), list, []))
        elif name == "take" and still:
            assert waiting.first is still[0]
            assert waiting.take() is still.pop(0)
        elif name == "take calls":
            begun = [ticket for ticket, _ in waiting.take_calls(value)]
            assert begun[:1] == calls[:1]
            calls = [ticket for ticket in calls if ticket not in begun]
        elif name == "forget" and tickets:
            gone = tickets[value % len(tickets)]
            waiting.forget(gone)
            still = [each for each in still if each.ticket is not gone]
            calls = [ticket for ticket in calls if ticket is not gone]

        assert waiting.n_sentences == len(still)
        assert waiting.n_tokens == sum(each.length for each in still) + sum(each.n_tokens for each in calls)
        assert waiting.size == sum(each.size for each in still)
        assert set(waiting) == {each.ticket for each in still} | set(calls)
        assert waiting.n_requests == len(set(waiting)) and bool(waiting) == bool(still or calls)


def test_calls_go_together_that_can() -> None:
    waiting = Waiting()
    one, two, other, large = (Ticket(Nobody(), 0.0, n) for n in (3, 4, 1, 9))
    for ticket, key in ((one, "a"), (other, "b"), (two, "a"), (large, "a")):
        waiting.add_call(ticket, Call((key,), list, []))

    assert [ticket for ticket, _ in waiting.take_calls(7)] == [one, two]
    assert [ticket for ticket, _ in waiting.take_calls(10)] == [other]
    assert [ticket for ticket, _ in waiting.take_calls(5)] == [large]  # alone, whatever it is
