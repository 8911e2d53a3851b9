"""Model directories whose author is careless or hostile: each is refused soon, with file and reason."""

import json
import os
import resource
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from glassformer.checkpoint import load_model, save_model, save_tensors
from glassformer.checkpoint.tensors import load_tensors
from glassformer.errors import CheckpointError
from tests.support.models import encoder_decoder
from tests.unit.checkpoint.tiny import reseal, save_tiny, tiny_tokenizer

Spoil = Callable[[Path], None]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound") / "m"
    save_tiny(folder)
    return folder


@pytest.fixture
def directory(sound: Path, tmp_path: Path) -> Path:
    shutil.copytree(sound, tmp_path / "m")
    return tmp_path / "m"


def config(**changes: object) -> Spoil:
    def spoil(directory: Path) -> None:
        path = directory / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return spoil


def config_text(text: str | bytes) -> Spoil:
    return lambda directory: void((directory / "config.json").write_bytes(
        text.encode() if isinstance(text, str) else text
    ))  # fmt: skip


def tensors(change: Callable[[dict[str, torch.Tensor]], object], storage: str = "float32") -> Spoil:
    def spoil(directory: Path) -> None:
        path = directory / "model.safetensors"
        found = load_tensors(path)
        change(found)
        path.unlink()
        save_tensors(path, found, {"format": "1", "storage": storage})

    return spoil


def instead(name: str, put: Callable[[Path], object]) -> Spoil:
    def spoil(directory: Path) -> None:
        (directory / name).unlink()
        put(directory / name)

    return spoil


def void(_: object) -> None:
    return None


EMBEDDING = "target_embedding.weight"
BIAS = "decoder.blocks.0.attention.key.bias"
WEIGHT = "encoder.blocks.1.feed_forward.expand.weight"
SIZE = tiny_tokenizer().size
OTHER = "model.safetensors: made for another model; "

HOSTILE: dict[str, tuple[Spoil, str]] = {
    "missing tensor": (tensors(lambda t: t.pop(BIAS)), f"{OTHER}missing: '{BIAS}'"),
    "extra tensor": (tensors(lambda t: t.update(x=torch.zeros(1))), f"{OTHER}unexpected: 'x'"),
    "transposed": (
        tensors(lambda t: t.update({WEIGHT: t[WEIGHT].t()})),
        f"{OTHER}'{WEIGHT}' is float32 (16, 24), not float32 (24, 16)",
    ),
    "wrong type": (
        tensors(lambda t: t.update({BIAS: t[BIAS].long()})),
        f"{OTHER}'{BIAS}' is int64 (16,), not float32 (16,)",
    ),
    "int8 without scale": (
        tensors(lambda t: t.update({WEIGHT: t[WEIGHT].to(torch.int8)})),
        f"{OTHER}'{WEIGHT}' is int8 (24, 16), not float32 (24, 16)",
    ),
    "rows of another vocabulary": (
        config(vocab_size=SIZE + 2),
        f"{OTHER}'{EMBEDDING}' is float32 ({SIZE}, 16), not float32 ({SIZE + 2}, 16)",
    ),
    "unknown storage": (
        tensors(lambda _: None, storage="int2"),
        "model.safetensors: unknown storage 'int2'; this glassformer reads float32, float16, int8",
    ),
    "NaN weight": (
        tensors(lambda t: t[BIAS].fill_(float("nan"))),
        f"model.safetensors: '{BIAS}' is not finite; the model is of no use",
    ),
    "infinite weight": (
        tensors(lambda t: t[WEIGHT].view(-1)[7:8].fill_(float("-inf"))),
        f"model.safetensors: '{WEIGHT}' is not finite; the model is of no use",
    ),
    "no more than a header": (
        instead("model.safetensors", lambda path: path.write_bytes(b"")),
        "model.safetensors: the file ends inside its header; it is damaged or incomplete",
    ),
    "a pickle in its place": (
        instead("model.safetensors", lambda path: torch.save({"a": torch.zeros(3)}, path)),
        "model.safetensors: the file ends inside its header; it is damaged or incomplete",
    ),
    "wide beyond reason": (
        config(d_model=10**12),
        "config.json: d_model = 1000000000000 is more than the 16384 that can be loaded",
    ),
    "deep beyond reason": (
        config(n_decoder_layers=10**9),
        "config.json: n_decoder_layers = 1000000000 is more than the 256 that can be loaded",
    ),
    "heads beyond reason": (
        config(n_heads=2**40, d_k=1, d_v=1),
        "config.json: n_heads = 1099511627776 is more than the 1024 that can be loaded",
    ),
    "as large as allowed, of which the file has nothing": (
        config(
            vocab_size=2_000_000, d_model=16_384, d_ff=131_072, n_encoder_layers=256, n_decoder_layers=256
        ),
        "config.json: the model described is more than 4 times as large as model.safetensors; "
        "the two do not belong together",
    ),
    "narrow": (config(d_model=0), "config.json: d_model = 0 should be greater than 0"),
    "negative": (config(d_ff=-3), "config.json: d_ff = -3 should be greater than 0"),
    "a text for a number": (
        config(d_model="16"),
        'config.json: d_model = "16" should be a valid integer',
    ),
    "a fraction": (config(d_model=16.5), "config.json: d_model = 16.5 should be a valid integer"),
    "heads that do not divide": (
        config(n_heads=5),
        "config.json: n_heads = 5 does not divide d_model = 16; change one, or set d_k and d_v",
    ),
    "code to run": (
        config(auto_map={"AutoModel": "evil.Model"}),
        "config.json: unknown key 'auto_map'",
    ),
    "keys given twice": (
        config_text('{"d_model": 16, "d_model": 8}'),
        "config.json: not valid JSON: key 'd_model' appears twice",
    ),
    "NaN in the config": (
        config_text('{"dropout": NaN}'),
        "config.json: not valid JSON: NaN is not a number of JSON",
    ),
    "nested 100,000 deep": (
        config_text('{"a":' * 100_000),
        "config.json: not valid JSON: nested deeper than 16",
    ),
    "a link out of the directory": (
        instead("model.safetensors", lambda path: path.symlink_to("/etc/passwd")),
        "model.safetensors: this is a symbolic link; put the file itself there",
    ),
    "a linked config": (
        instead("config.json", lambda path: path.symlink_to("/etc/passwd")),
        "config.json: this is a symbolic link; put the file itself there",
    ),
    "a linked tokenizer": (
        instead("tokenizer.json", lambda path: path.symlink_to("/etc/passwd")),
        "tokenizer.json: this is a symbolic link; put the file itself there",
    ),
    "a link to itself": (
        instead("model.safetensors", lambda path: path.symlink_to(path)),
        "model.safetensors: this is a symbolic link; put the file itself there",
    ),
    "a pipe for weights": (
        instead("model.safetensors", os.mkfifo),
        "model.safetensors: this is not a regular file",
    ),
    "a pipe for settings": (instead("config.json", os.mkfifo), "config.json: this is not a regular file"),
    "a pipe for a tokenizer": (
        instead("tokenizer.json", os.mkfifo),
        "tokenizer.json: this is not a regular file",
    ),
    "a directory for weights": (
        instead("model.safetensors", Path.mkdir),
        "model.safetensors: this is not a regular file",
    ),
    "a device for weights": (
        instead("model.safetensors", lambda path: path.symlink_to("/dev/zero")),
        "model.safetensors: this is a symbolic link; put the file itself there",
    ),
}


def sealed_kinds() -> Iterator[tuple[str, bool]]:
    for kind in HOSTILE:
        yield kind, True
        yield kind, False


@pytest.mark.parametrize(("kind", "verified"), [*sealed_kinds()])
def test_a_hostile_directory_is_refused_with_file_and_reason(
    directory: Path, kind: str, verified: bool
) -> None:
    """With a manifest that vouches for it, and with none asked for."""
    spoil, told = HOSTILE[kind]
    spoil(directory)
    if verified:
        reseal(directory)
    start = time.process_time()
    with pytest.raises(CheckpointError) as refused:
        load_model(directory, verify=verified)

    assert str(refused.value) == f"{directory}/{told}"
    assert time.process_time() - start < 5


def test_a_gigantic_architecture_takes_no_memory(directory: Path) -> None:
    HOSTILE["as large as allowed, of which the file has nothing"][0](directory)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CheckpointError):
        load_model(directory, verify=False)

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


def test_a_sparse_terabyte_is_refused_unread(directory: Path) -> None:
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        size = (directory / name).stat().st_size
        os.truncate(directory / name, 10**12)
        start = time.process_time()
        with pytest.raises(CheckpointError, match=name):
            load_model(directory)
        os.truncate(directory / name, size)

        assert time.process_time() - start < 5


def test_a_host_of_empty_tensors_is_refused_in_time(directory: Path) -> None:
    entry = '":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"'
    path, names = directory / "model.safetensors", map(str, range(60_000))
    header = ('{"' + entry.join(names) + entry.removesuffix(',"') + "}").encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    start = time.process_time()
    with pytest.raises(CheckpointError, match="made for another model"):
        load_model(directory, verify=False)

    assert time.process_time() - start < 5


def test_what_is_missing_is_told_with_the_way_out(directory: Path) -> None:
    told = []
    for name in ("manifest.json", "config.json", "model.safetensors"):
        (directory / name).unlink()
        with pytest.raises(CheckpointError) as refused:
            load_model(directory)
        told.append((str(refused.value), refused.value.hint))
    with pytest.raises(CheckpointError) as refused:
        load_model(directory / "none")

    where = "is this the model directory that 'glassformer train' wrote?"
    assert told == [
        (
            f"{directory}: no manifest.json here; a directory of Hugging Face must be imported first",
            f"glassformer import {directory} OUT",
        ),
        (f"{directory}: no config.json here; {where}", None),
        (f"{directory}: no model.safetensors here; {where}", None),
    ]
    assert str(refused.value) == f"{directory / 'none'}: there is no such directory"


def test_a_changed_bit_is_refused_unless_told_otherwise(directory: Path) -> None:
    path = directory / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)
    with pytest.raises(CheckpointError) as refused:
        load_model(directory)

    assert str(refused.value) == (
        f"{path}: the content is not what was written (SHA-256 differs); it is damaged"
    )
    load_model(directory, verify=False)


def test_nan_is_loaded_only_on_demand(directory: Path) -> None:
    HOSTILE["NaN weight"][0](directory)
    model = load_model(directory, verify=False, allow_nonfinite=True).model

    assert dict(model.named_parameters())[BIAS].isnan().all()


def test_scales_that_overflow_are_found_after_restoring(directory: Path) -> None:
    def huge(found: dict[str, torch.Tensor]) -> None:
        for name, tensor in list(found.items()):
            if tensor.dim() == 2:
                found[name] = torch.full_like(tensor, 127, dtype=torch.int8)
                found[name + ".scale"] = torch.full((len(tensor),), 3e38)

    tensors(huge, storage="int8")(directory)
    with pytest.raises(CheckpointError, match="is not finite"):
        load_model(directory, verify=False)


def test_a_tokenizer_with_more_ids_than_the_model_is_refused(tmp_path: Path) -> None:
    save_tiny(tmp_path / "large")
    small = tmp_path / "small"
    save_model(small, encoder_decoder(), None, card="")
    shutil.copy(tmp_path / "large" / "tokenizer.json", small)
    reseal(small)
    with pytest.raises(CheckpointError) as refused:
        load_model(small)

    assert (
        str(refused.value)
        == f"{small / 'tokenizer.json'}: {SIZE} tokens, but the model of config.json knows 17"
    )


@pytest.mark.forked  # a watch can never be taken away from a process again
def test_loading_runs_nothing_and_reads_nothing_outside(directory: Path) -> None:
    """X1 and X2: what Python itself reports while a model is loaded."""
    load_model(directory)  # imports happen now
    opened: list[str] = []
    ran: list[str] = []
    watching = True

    def watch(event: str, args: tuple[object, ...]) -> None:
        if watching and event == "open":
            opened.append(str(args[0]))
        if watching and event in ("exec", "compile", "import", "pickle.find_class", "os.system"):
            ran.append(event)

    sys.addaudithook(watch)
    load_model(directory)
    watching = False

    assert {Path(path).parent for path in opened} == {directory}
    assert ran == []
