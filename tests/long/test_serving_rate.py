"""With 64 clients a server is several times as fast as with one, and nearly as fast as one offline call."""

import pytest

from benchmarks.serve_load import Crowd, measure, read_sentences, table
from glassformer.decoding.pretrained import shipped_model
from glassformer.errors import CheckpointError

pytestmark = pytest.mark.long


def test_64_clients_on_the_shipped_model() -> None:
    try:
        shipped_model()
    except CheckpointError:
        pytest.skip("no model comes with this installation")
    measured = measure(None, read_sentences(None, 1024), [Crowd(1), Crowd(64), Crowd(64, 16)], beam=4)
    print(table(measured))
    one, many, large = measured.loads
    by_one_thread = measured.offline[0]  # on two cores clients and HTTP take a good part of the other

    assert many.failed == large.failed == 0
    assert many.sentences_per_second >= 5 * one.sentences_per_second
    assert many.sentences_per_second >= 0.9 * by_one_thread.sentences_per_second
