"""Whatever is handed to the library, it says what is wrong and goes on."""

import ctypes
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from glassformer.config import DecodeConfig
from glassformer.engine import Engine, NotNative, Query, Specials, abi, load_library
from glassformer.engine.packing import pack_config, pack_options, pack_queries
from glassformer.errors import InputError
from tests.engine.native import engine_of, needs_library
from tests.support.models import tiny_config
from tests.unit.decoding.toys import SPECIALS, toy

pytestmark = needs_library

numbers = st.one_of(st.integers(-(2**31), 2**31 - 1), st.sampled_from([-1, 0, 1, 2, 3, 16, 17, 2**31 - 1]))


def engine() -> Engine:
    return engine_of(toy())


def parameters(config_of: Engine) -> dict[str, np.ndarray[Any, Any]]:
    from glassformer.engine.parameters import parameter_shapes

    return {name: np.zeros(shape, np.float32) for name, shape in parameter_shapes(config_of.config).items()}


@pytest.mark.parametrize(
    "query",
    [
        Query((17,)),
        Query((-1, 2)),
        Query((3,) * 200),
        Query(()),
        Query((3,), prefix=(99,)),
        Query((3,), prefix=(-5,)),
    ],
)
def test_ids_and_lengths_are_checked(query: Query) -> None:
    with pytest.raises(InputError):
        engine().decode([query], [4], DecodeConfig(), SPECIALS)


@pytest.mark.parametrize("limit", [0, -1])
def test_limits_are_checked(limit: int) -> None:
    with pytest.raises(InputError):
        engine().decode([Query((3,))], [limit], DecodeConfig(), SPECIALS)


def test_special_ids_are_checked() -> None:
    for specials in (Specials(99, 2, 0), Specials(1, -2, 0), Specials(1, 2, 0, suppressed=(0, 99))):
        with pytest.raises(InputError):
            engine().decode([Query((3,))], [4], DecodeConfig(), specials)


def test_lists_are_checked() -> None:
    for listed in ([5, 4], [3, 99], [-1, 3]):
        with pytest.raises(InputError):
            engine().decode([Query((3,))], [4], DecodeConfig(), SPECIALS, lists=[np.array(listed)])


def test_tensors_are_checked() -> None:
    known = engine()
    good = parameters(known)
    name = "encoder.blocks.0.attention.query.weight"
    wrong = [
        {key: value for key, value in good.items() if key != name},
        good | {name: np.zeros((3, 3), np.float32)},
        good | {"stranger.weight": np.zeros((3, 3), np.float32)},
        {},
    ]
    for tensors in wrong:
        with pytest.raises((InputError, NotNative)):
            Engine(known.config, tensors)
    Engine(known.config, good)


def test_a_huge_beam_is_bounded_or_refused() -> None:
    try:
        (found,) = engine().decode([Query((3, 2))], [3], DecodeConfig(beam=4096), SPECIALS).hypotheses
    except (InputError, NotNative, MemoryError):
        return
    assert found


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    field=st.sampled_from([entry[0] for entry in abi.Config._fields_ if entry[1] is ctypes.c_int32]),
    value=numbers,
)
def test_any_number_in_an_architecture(field: str, value: int) -> None:
    """It makes no model, or one that can be freed; never a crash, never gigabytes."""
    known = tiny_config()
    packed = pack_config(known)
    setattr(packed, field, value)
    good = parameters(engine())
    held = {key: np.ascontiguousarray(array) for key, array in good.items()}
    tensors = (abi.Tensor * len(held))(
        *(
            abi.Tensor(
                key.encode(),
                array.ctypes.data,
                array.shape if array.ndim == 2 else (array.size, 1),
                array.ndim,
            )
            for key, array in held.items()
        )
    )
    handle = ctypes.c_void_p()
    library = load_library()
    try:
        library.call(
            "gf_model_create", ctypes.byref(packed), tensors, len(held), 0, None, ctypes.byref(handle)
        )
    except (InputError, NotNative, MemoryError):
        return
    library.functions.gf_model_free(handle)


INT_OPTIONS = [
    entry[0]
    for entry in abi.Options._fields_
    if entry[1] is ctypes.c_int32 and entry[0] not in ("threads", "n_suppressed")
]


@settings(max_examples=150, deadline=None)
@given(field=st.sampled_from(INT_OPTIONS), value=numbers)
def test_any_number_in_the_options(field: str, value: int) -> None:
    if field in ("beam", "nbest", "batch_rows") and value > 512:
        value %= 512  # what is large and allowed is only slow
    known = engine()
    batch = pack_queries([Query((3, 4, 2)), Query((5, 2))], [4, 4], DecodeConfig())
    options = pack_options(DecodeConfig(beam=2), SPECIALS)
    setattr(options.structure, field, value)
    results = ctypes.POINTER(abi.Results)()
    library = load_library()
    try:
        library.call(
            "gf_translate",
            known._handle,
            ctypes.byref(batch.structure),
            ctypes.byref(options.structure),
            ctypes.byref(results),
        )
    except (InputError, NotNative, MemoryError):
        return
    assert results.contents.n == 2
    library.functions.gf_results_free(results)


PLACES = [
    entry[0] for entry in abi.Batch._fields_ if "offsets" in entry[0] or entry[0] == "forbidden_sequences"
]


@pytest.mark.parametrize("field", PLACES)
def test_places_that_fall_are_refused(field: str) -> None:
    known = engine()
    asked = [
        Query((3, 4, 2), prefix=(5, 6), forbidden=((7, 8),)),
        Query((5, 2), prefix=(4,), forbidden=((9,),)),
    ]
    dice = random.Random(field)
    for _ in range(20):
        batch = pack_queries(asked, [4, 4], DecodeConfig(), [np.array([2, 5, 6]), np.array([2, 4, 9])])
        places = getattr(batch.structure, field)
        for at in range(3):
            if dice.random() < 0.6:
                places[at] = dice.choice([-(2**62), -1, 0, 5, 1])
        rising = 0 == places[0] <= places[1] <= places[2]
        options = pack_options(DecodeConfig(beam=2), SPECIALS)
        results = ctypes.POINTER(abi.Results)()
        if rising:
            continue
        with pytest.raises(InputError):
            load_library().call(
                "gf_translate",
                known._handle,
                ctypes.byref(batch.structure),
                ctypes.byref(options.structure),
                ctypes.byref(results),
            )


def test_nothing_at_all_is_refused() -> None:
    library, results = load_library(), ctypes.POINTER(abi.Results)()
    options = pack_options(DecodeConfig(), SPECIALS)
    batch = pack_queries([Query((3,))], [3], DecodeConfig())
    known = engine()
    empty = abi.Batch(size=ctypes.sizeof(abi.Batch), n=1)
    short = abi.Batch(size=3, n=1)
    told = ctypes.byref(options.structure)
    for model, asked in ((None, batch.structure), (known._handle, empty), (known._handle, short)):
        with pytest.raises(InputError):
            library.call("gf_translate", model, ctypes.byref(asked), told, ctypes.byref(results))
    with pytest.raises(InputError):
        library.call("gf_translate", known._handle, None, told, ctypes.byref(results))


def test_a_session_is_not_asked_for_strangers() -> None:
    session = engine().session()
    for call in (session.results, session.remove):
        with pytest.raises((InputError, KeyError)):
            call(5)
    assert session.step() == []
    session.close()
