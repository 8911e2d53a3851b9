"""Tensors on disk, exact to the bit, in the very format of the safetensors library."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from glassformer.checkpoint.tensor_file import RawTensor, TensorFile, TensorType, open_tensors
from glassformer.checkpoint.tensors import load_tensors, not_finite, save_tensors, to_raw, types_of
from glassformer.errors import CheckpointError

DTYPES = [
    torch.float32, torch.float16, torch.bfloat16, torch.float64,
    torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
]  # fmt: skip
SHAPES: list[tuple[int, ...]] = [(), (0,), (1,), (3,), (2, 3), (0, 4), (2, 1, 3, 2)]


def random_bits(dtype: torch.dtype, shape: tuple[int, ...]) -> Tensor:
    """Any bits at all, NaNs of every kind included."""
    if dtype == torch.bool:
        return torch.rand(shape) < 0.5
    size = torch.empty(0, dtype=dtype).element_size()
    flat = torch.randint(0, 256, (int(np.prod(shape)) * size,), dtype=torch.uint8)
    return flat.view(dtype).reshape(shape)


def all_kinds() -> dict[str, Tensor]:
    return {f"{dtype}{shape}é": random_bits(dtype, shape) for dtype in DTYPES for shape in SHAPES}


def bits(tensor: Tensor) -> bytes:
    return to_raw(tensor).array.tobytes()


def test_a_round_trip_keeps_every_bit_of_every_type_and_shape(tmp_path: Path) -> None:
    tensors = all_kinds()
    save_tensors(tmp_path / "x", tensors)
    loaded = load_tensors(tmp_path / "x", expected=types_of(tensors))

    assert set(loaded) == set(tensors)
    for name, tensor in tensors.items():
        assert (loaded[name].dtype, loaded[name].shape) == (tensor.dtype, tensor.shape)
        assert bits(loaded[name]) == bits(tensor)


def test_saving_what_was_loaded_gives_the_same_bytes_in_any_order(tmp_path: Path) -> None:
    tensors = all_kinds()
    save_tensors(tmp_path / "x", tensors, {"b": "2", "a": "1"})
    loaded = load_tensors(tmp_path / "x")
    save_tensors(tmp_path / "y", dict(sorted(loaded.items(), reverse=True)), {"a": "1", "b": "2"})

    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()


def test_files_are_byte_for_byte_those_of_the_library(tmp_path: Path) -> None:
    tensors = all_kinds()
    for number, metadata in enumerate([None, {"storage": 'ünïcode "quoted"'}]):
        save_tensors(tmp_path / str(number), tensors, metadata)

        assert (tmp_path / str(number)).read_bytes() == safetensors.torch.save(tensors, metadata)
    save_tensors(tmp_path / "empty", {})
    assert (tmp_path / "empty").read_bytes() == safetensors.torch.save({})
    assert load_tensors(tmp_path / "empty") == {}


def test_slices_transposes_and_parameters_are_saved_as_they_look(tmp_path: Path) -> None:
    whole = torch.arange(12.0).reshape(3, 4)
    views = {"row": whole[1], "column": whole[:, 1], "t": whole.t(), "p": torch.nn.Parameter(whole)}
    save_tensors(tmp_path / "x", views)
    loaded = load_tensors(tmp_path / "x")

    assert all(torch.equal(loaded[name], view) for name, view in views.items())


def test_what_has_no_type_in_the_format_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="complex64"):
        save_tensors(tmp_path / "x", {"a": torch.zeros(1, dtype=torch.complex64)})

    assert not (tmp_path / "x").exists()


def test_numpy_reads_every_floating_type_as_float32(tmp_path: Path) -> None:
    values = torch.tensor([1.5, -2.0, 0.0, 3e38])
    tensors = {str(dtype): values.to(dtype) for dtype in (torch.float32, torch.bfloat16, torch.float64)}
    save_tensors(tmp_path / "x", tensors)
    with open_tensors(tmp_path / "x") as file:
        arrays = file.read()

    for name, tensor in tensors.items():
        assert arrays[name].float32().dtype == np.float32
        assert np.array_equal(arrays[name].float32(), tensor.float().numpy())


def test_tensors_of_another_model_are_named_before_memory_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    save_tensors(path, {"a": torch.zeros(2, 3), "b": torch.zeros(2), "z": torch.zeros(1)})
    expected = {
        "a": TensorType("F32", (3, 2)),
        "b": TensorType("F16", (2,)),
        **{f"m{number}": TensorType("F32", (1,)) for number in range(5)},
    }
    monkeypatch.setattr(TensorFile, "read", lambda *_: pytest.fail("memory was taken"))
    with pytest.raises(CheckpointError) as refused:
        load_tensors(path, expected=expected)

    assert str(refused.value) == (
        f"{path}: made for another model; missing: 'm0', 'm1', 'm2' and 2 more; unexpected: 'z'; "
        "'a' is float32 (2, 3), not float32 (3, 2), 'b' is float32 (2,), not float16 (2,)"
    )


def header_file(path: Path, header: object, data: bytes = b"", length: int | None = None) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)
    return path


def entry(dtype: object = "F32", shape: object = (1,), offsets: object = (0, 4)) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


MALFORMED = "the header's entry of tensor 'a' is malformed; the file is damaged"
MISPLACED = "tensor 'a' is not where its shape says; the file is damaged"
HEADERS: dict[str, tuple[object, str]] = {
    "overlap": ({"b": entry(), "a": entry(offsets=(2, 6))}, MISPLACED),
    "hole": ({"a": entry(offsets=(2, 6))}, MISPLACED),
    "reversed": ({"a": entry(offsets=(4, 0))}, MISPLACED),
    "shape is not bytes": ({"a": entry(shape=(2,))}, MISPLACED),
    "negative offset": ({"a": entry(offsets=(-4, 0))}, MALFORMED),
    "negative shape": ({"a": entry(shape=(-1,))}, MALFORMED),
    "huge shape": ({"a": entry(shape=(2**40, 2**40))}, MALFORMED),
    "nothing of a huge shape": ({"a": entry(shape=(0, 2**40, 2**40), offsets=(0, 0))}, MALFORMED),
    "many dimensions": ({"a": entry(shape=(1,) * 100)}, MALFORMED),
    "true as a size": ({"a": entry(shape=(True,))}, MALFORMED),
    "three offsets": ({"a": entry(offsets=(0, 4, 8))}, MALFORMED),
    "type is no text": ({"a": entry(dtype=3)}, MALFORMED),
    "no entry": ({"a": 3}, MALFORMED),
    "another key": ({"a": entry() | {"more": 1}}, MALFORMED),
    "unknown type": ({"a": entry(dtype="F8_E4M3")}, "tensor 'a' has the unknown type 'F8_E4M3'"),
    "metadata": (
        {"__metadata__": {"a": 1}, "a": entry()},
        "the header's metadata are not texts; the file is damaged",
    ),
    "left over": (
        {},
        "4 bytes of tensors, but the header speaks of 0; the file is damaged or incomplete",
    ),
    "twice": (
        b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "a": 1}',
        "not valid JSON: key 'a' appears twice",
    ),
    "a list": (b"[]", "not valid JSON: an object is expected"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HEADERS)
def test_a_header_that_contradicts_itself_is_refused(tmp_path: Path, kind: str) -> None:
    header, told = HEADERS[kind]
    path = header_file(tmp_path / "x", header, bytes(4))
    with pytest.raises(CheckpointError) as refused:
        load_tensors(path)

    assert str(refused.value) == f"{path}: {told}"


@pytest.mark.parametrize("length", [3, 2**62, 2**64 - 1])
def test_a_header_longer_than_its_file_takes_no_memory(tmp_path: Path, length: int) -> None:
    path = header_file(tmp_path / "x", {}, length=length)
    with pytest.raises(CheckpointError) as refused:
        load_tensors(path)

    assert str(refused.value) == f"{path}: the file ends inside its header; it is damaged or incomplete"


def test_a_header_of_99_megabytes_is_refused_unread(tmp_path: Path) -> None:
    path = header_file(tmp_path / "x", b"", length=99_000_000)
    os.truncate(path, 100_000_000)
    with pytest.raises(CheckpointError) as refused:
        load_tensors(path)

    assert str(refused.value) == f"{path}: a header of 99 MB; it may have 8.0 MB at most"


def test_a_file_that_shrinks_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    save_tensors(path, {"a": torch.zeros(10)})
    with open_tensors(path) as file:
        os.truncate(path, path.stat().st_size - 1)
        with pytest.raises(CheckpointError) as refused:
            file.read()

    assert str(refused.value) == f"{path}: the file became shorter while it was read"


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(0, 300))
def test_any_other_bytes_are_refused_as_an_error_of_the_user(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes, at: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "junk"
    path.write_bytes(safetensors.torch.save({"a": torch.zeros(4), "b": torch.ones(2, 2)})[:at] + junk)
    try:
        load_tensors(path)
    except CheckpointError:
        return
    safetensors.torch.load_file(path)  # what we take, the library takes too


def test_nan_and_infinity_are_found_in_every_type_that_has_them() -> None:
    tensors: dict[str, Tensor] = {"empty": torch.zeros(0), "ints": torch.ones(3, dtype=torch.int64)}
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        for value in (float("nan"), float("inf"), float("-inf"), 1.0):
            tensors[f"{dtype} {value}"] = torch.tensor([0.0, value, 2.0], dtype=dtype)
        tensors[f"{dtype} both"] = torch.tensor([float("inf"), float("-inf")], dtype=dtype)
        tensors[f"{dtype} large"] = torch.full((4,), torch.finfo(dtype).max, dtype=dtype)

    assert not_finite(tensors) == [name for name in tensors if name.endswith(("nan", "inf", "both"))]


def test_an_unaligned_tensor_of_another_program_is_read_too(tmp_path: Path) -> None:
    header = {"b": entry("U8", (1,), (0, 1)), "a": entry("F32", (1,), (1, 5))}
    path = header_file(tmp_path / "x", header, b"\x07" + np.float32(1.5).tobytes())
    loaded = load_tensors(path)

    assert (loaded["a"].item(), loaded["b"].item()) == (1.5, 7)
    assert RawTensor("F32", np.zeros(2, np.float32)).type.n_bytes == 8
