"""A long call can be stopped, and leaves the engine as it was."""

import signal
import threading
import time
from types import FrameType

import pytest

from glassformer.config import DecodeConfig
from glassformer.decoding.hypothesis import Query
from tests.engine.native import native_of, needs_library
from tests.unit.decoding.toys import decoder

pytestmark = needs_library


def test_a_signal_stops_a_long_call() -> None:
    native = native_of(decoder(max_length=1000))
    asked = [Query((3, 4, 5))] * 3000
    config = DecodeConfig(beam=8, min_length=900, max_length=900)

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    start = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            native.decode(asked, config)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    print(f"{time.process_time() - start:.2f} s of processor time; all of it would have taken minutes")
    for thread in threading.enumerate():  # it has answered; it may still be on its way out
        if thread.name == "glassformer-engine":
            thread.join(timeout=5)
            assert not thread.is_alive()
    assert native.decode(asked[:2], DecodeConfig(max_length=4))


def test_what_a_worker_raises_is_raised() -> None:
    with pytest.raises(Exception, match="vocabulary"):
        native_of(decoder()).decode([Query((3,)), Query((99,))], DecodeConfig())
