"""Model directories that mean harm: each is a small change of a sound one."""

import base64
import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Spoil = Callable[[Path], None]


class Hostile(NamedTuple):
    """A way to spoil a directory, and a part of the answer that is expected."""

    name: str
    base: str
    """Which sound directory is spoilt: ``marian`` or ``bert``."""
    spoil: Spoil
    message: str


def edit(name: str, **values: object) -> Spoil:
    """Other values under keys of a JSON file."""

    def spoil(folder: Path) -> None:
        table = json.loads((folder / name).read_text(encoding="utf-8"))
        (folder / name).write_text(json.dumps(table | values), encoding="utf-8")

    return spoil


def text(name: str, content: str | bytes) -> Spoil:
    """Another content of a file."""

    def spoil(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)

    return spoil


def raw(name: str, content: str) -> Spoil:
    """A value of config.json that json.dumps would not write."""

    def spoil(folder: Path) -> None:
        table = json.loads((folder / "config.json").read_text())
        table[name] = "@@"
        (folder / "config.json").write_text(json.dumps(table).replace('"@@"', content))

    return spoil


def header(folder: Path) -> tuple[dict[str, Any], bytes]:
    """The header of the weights, and the numbers."""
    data = (folder / "model.safetensors").read_bytes()
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def put(folder: Path, table: dict[str, Any] | bytes, numbers: bytes) -> None:
    text_ = table if isinstance(table, bytes) else json.dumps(table).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text_)) + text_ + numbers)


def tensors(change: Callable[[dict[str, np.ndarray[Any, Any]]], None]) -> Spoil:
    """Other tensors, in a file that is sound by itself."""

    def spoil(folder: Path) -> None:
        from safetensors.numpy import load_file, save_file

        found = load_file(folder / "model.safetensors")
        change(found)
        save_file(found, folder / "model.safetensors")

    return spoil


def head(change: Callable[[dict[str, Any], bytes], tuple[dict[str, Any] | bytes, bytes]]) -> Spoil:
    """Another header."""

    def spoil(folder: Path) -> None:
        put(folder, *change(*header(folder)))

    return spoil


def sharded(weight_map: Callable[[dict[str, str]], dict[str, Any]], extra: Spoil = lambda _: None) -> Spoil:
    """The weights as a shard, with an index that may say anything."""

    def spoil(folder: Path) -> None:
        names = [name for name in header(folder)[0] if name != "__metadata__"]
        (folder / "model.safetensors").rename(folder / "model-1.safetensors")
        table = weight_map(dict.fromkeys(names, "model-1.safetensors"))
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": table}))
        extra(folder)

    return spoil


def link(name: str, target: str) -> Spoil:
    def spoil(folder: Path) -> None:
        if (folder / name).exists():
            (folder / name).rename(folder.parent / f"outside-{name}")
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target.format(outside=folder.parent / f"outside-{name}"))

    return spoil


def pipe(name: str) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return spoil


def pooled(make: Callable[[Path], None]) -> Spoil:
    """A folder 1_Pooling, which makes a directory that of a sentence encoder."""

    def spoil(folder: Path) -> None:
        make(folder / "1_Pooling")

    return spoil


def folder_with_pipe(path: Path) -> None:
    path.mkdir()
    os.mkfifo(path / "config.json")


def in_two_shards(folder: Path) -> None:
    """The same tensors in two files, each of which the index names."""
    names = [name for name in header(folder)[0] if name != "__metadata__"]
    data = (folder / "model.safetensors").read_bytes()
    for shard in ("a.safetensors", "b.safetensors"):
        (folder / shard).write_bytes(data)
    (folder / "model.safetensors").unlink()
    table = {name: "ab"[i % 2] + ".safetensors" for i, name in enumerate(names)}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": table}))


def many_merges(table: dict[str, Any]) -> None:
    table["model"] = {
        "type": "BPE",
        "vocab": {"a": 0, "b": 1},
        "merges": [["a", "b"]] * 1_000_000,
    }


def many_pieces(folder: Path) -> None:
    """Three million pieces of one letter in a SentencePiece model."""
    (folder / "source.spm").write_bytes(b"\x0a\x03\x0a\x01a" * 3_000_000)


def folder_at(name: str) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return spoil


def only(name: str) -> Spoil:
    """Weights in a format that runs code, or that is not read."""

    def spoil(folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        (folder / name).write_bytes(b"cos\nsystem\n(S'touch canary'\ntR.")

    return spoil


def first(table: dict[str, Any]) -> str:
    return next(name for name in table if name != "__metadata__")


def truncated(keep: int) -> Spoil:
    def spoil(folder: Path) -> None:
        path = folder / "model.safetensors"
        path.write_bytes(path.read_bytes()[:keep])

    return spoil


def grown(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes() + b"junk")


def entry(**values: object) -> Spoil:
    """Another entry of the first tensor in the header."""

    def change(table: dict[str, Any], numbers: bytes) -> tuple[dict[str, Any], bytes]:
        table[first(table)] |= values
        return table, numbers

    return head(change)


def duplicate(table: dict[str, Any], numbers: bytes) -> tuple[bytes, bytes]:
    name = first(table)
    inside = json.dumps(table)[1:]
    return f'{{"{name}": {json.dumps(table[name])}, {inside}'.encode(), numbers


def many(table: dict[str, Any], numbers: bytes) -> tuple[dict[str, Any], bytes]:
    end = len(numbers)
    table |= {f"t{i}": {"dtype": "F32", "shape": [0], "data_offsets": [end, end]} for i in range(60_000)}
    return table, numbers


def renamed(new: str) -> Callable[[dict[str, Any]], None]:
    def change(found: dict[str, Any]) -> None:
        found[new] = found.pop(sorted(found)[0])

    return change


def set_nan(found: dict[str, Any]) -> None:
    name = sorted(found)[0]
    found[name] = np.full_like(found[name], np.nan)


def transpose(found: dict[str, Any]) -> None:
    name = next(name for name in sorted(found) if name.endswith("fc1.weight"))
    found[name] = np.ascontiguousarray(found[name].T)


def integers(found: dict[str, Any]) -> None:
    name = sorted(found)[0]
    found[name] = found[name].astype(np.int64)


def drop(found: dict[str, Any]) -> None:
    del found[sorted(found)[3]]


def add(found: dict[str, Any]) -> None:
    found["backdoor.weight"] = np.zeros((2, 2), np.float32)


def tie_broken(found: dict[str, Any]) -> None:
    found["lm_head.weight"] = found["model.shared.weight"] + 1


def vocabulary(change: Callable[[dict[str, Any]], None]) -> Spoil:
    """Another tokenizer.json."""

    def spoil(folder: Path) -> None:
        path = folder / "tokenizer.json"
        table = json.loads(path.read_text(encoding="utf-8"))
        change(table)
        path.write_text(json.dumps(table), encoding="utf-8")

    return spoil


def setting(part: str, value: object) -> Spoil:
    return vocabulary(lambda table: table.__setitem__(part, value))


def piece(new: str | None) -> Spoil:
    """One more piece in a SentencePiece model: a field of the protocol buffer."""

    def spoil(folder: Path) -> None:
        content = (new or "").encode()
        entry_ = b"\x0a" + varint(len(content)) + content + b"\x15" + struct.pack("<f", -3.0)
        path = folder / "source.spm"
        path.write_bytes(path.read_bytes() + b"\x0a" + varint(len(entry_)) + entry_)

    return spoil


def varint(value: int) -> bytes:
    found = b""
    while value > 127:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])


def bad_charsmap(folder: Path) -> None:
    """A trie whose root points far outside."""
    units = struct.pack("<4I", 0x7FFFFC00, 0, 0, 0)
    content = struct.pack("<I", len(units)) + units + b"a\0"
    spec = b"\x12" + varint(len(content)) + content
    path = folder / "source.spm"
    path.write_bytes(path.read_bytes() + b"\x1a" + varint(len(spec)) + spec)


def index_link(folder: Path) -> None:
    """An index that is somewhere else."""
    sharded(lambda names: names)(folder)
    link("model.safetensors.index.json", "{outside}")(folder)


def hole(table: dict[str, Any], numbers: bytes) -> tuple[dict[str, Any], bytes]:
    """Bytes that belong to no tensor."""
    for name, entry_ in table.items():
        if name != "__metadata__":
            entry_["data_offsets"] = [place + 8 for place in entry_["data_offsets"]]
    return table, bytes(8) + numbers


def generation(**values: object) -> Spoil:
    """A generation_config.json."""
    return text("generation_config.json", json.dumps(values))


DEEP = "[" * 100_000 + "]" * 100_000
REGEX = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
CHARSMAP = base64.b64encode(struct.pack("<I", 16) + b"\xff" * 16 + b"a\0").decode()
IMPOSSIBLE = "is impossible; expected"

CASES = [
    # files
    Hostile("weights-empty", "marian", text("model.safetensors", b""), "ends inside its header"),
    Hostile("weights-cut-in-header", "marian", truncated(60), "ends inside its header"),
    Hostile("weights-cut-in-numbers", "marian", truncated(9_000), "damaged or incomplete"),
    Hostile("weights-with-junk-behind", "marian", grown, "damaged or incomplete"),
    Hostile(
        "header-of-2^62",
        "marian",
        text("model.safetensors", struct.pack("<Q", 2**62) + b"{}"),
        "ends inside its header",
    ),
    Hostile(
        "header-of-99-MB",
        "marian",
        text("model.safetensors", struct.pack("<Q", 99_000_000) + b" " * 99_000_000),
        "a header of 99 MB",
    ),
    Hostile("header-no-json", "marian", head(lambda _, numbers: (b"{]", numbers)), "not valid JSON"),
    Hostile("header-deep", "marian", head(lambda _, numbers: (DEEP.encode(), numbers)), "nested deeper than"),
    Hostile("tensors-60000", "marian", head(many), "60"),
    Hostile("tensor-twice", "marian", head(duplicate), "appears twice"),
    Hostile("tensor-overlapping", "marian", entry(data_offsets=[0, 8]), "not where its shape says"),
    Hostile("tensor-negative-offset", "marian", entry(data_offsets=[-8, 0]), "is malformed"),
    Hostile("tensor-shape-overflow", "marian", entry(shape=[2**40, 2**40]), "is malformed"),
    Hostile("tensor-negative-shape", "marian", entry(shape=[-1, 4]), "is malformed"),
    Hostile("tensor-unknown-type", "marian", entry(dtype="F8_E4M3"), "unknown type 'F8_E4M3'"),
    Hostile("tensor-extra-key", "marian", entry(code="import os"), "is malformed"),
    Hostile("tensor-name-newline", "marian", tensors(renamed("a\nb")), "is no name of a tensor"),
    Hostile("tensor-name-bidi", "marian", tensors(renamed("a\u202eb")), "is no name of a tensor"),
    Hostile("tensor-name-long", "marian", tensors(renamed("a" * 5_000)), "is no name of a tensor"),
    Hostile("tensor-nan", "marian", tensors(set_nan), "would not be finite"),
    Hostile("tensor-transposed", "marian", tensors(transpose), "not (24, 16)"),
    Hostile("tensor-integers", "marian", tensors(integers), "weights are floats"),
    Hostile("tensor-missing", "marian", tensors(drop), "missing: "),
    Hostile("tensor-extra", "marian", tensors(add), "unexpected: 'backdoor.weight'"),
    Hostile("tensor-tie-broken", "marian", tensors(tie_broken), "this architecture ties them"),
    Hostile("weights-of-another-model", "marian", lambda folder: swap_weights(folder), "missing: "),
    Hostile("only-pytorch-bin", "marian", only("pytorch_model.bin"), "only 'pytorch_model.bin' here"),
    Hostile("only-pt", "marian", only("model.pt"), "only 'model.pt' here"),
    Hostile("only-npz", "marian", only("model.npz"), "only 'model.npz' here"),
    Hostile("only-ckpt", "marian", only("model.ckpt"), "only 'model.ckpt' here"),
    Hostile("no-weights", "marian", lambda folder: (folder / "model.safetensors").unlink(), "no model.safe"),
    Hostile("weights-link-out", "marian", link("model.safetensors", "{outside}"), "symbolic link"),
    Hostile("weights-link-loop", "marian", link("model.safetensors", "model.safetensors"), "symbolic link"),
    Hostile("weights-link-passwd", "marian", link("model.safetensors", "/etc/passwd"), "symbolic link"),
    Hostile("weights-pipe", "marian", pipe("model.safetensors"), "not a regular file"),
    Hostile("weights-folder", "marian", folder_at("model.safetensors"), "not a regular file"),
    Hostile("config-link", "marian", link("config.json", "{outside}"), "symbolic link"),
    Hostile("config-pipe", "marian", pipe("config.json"), "not a regular file"),
    Hostile("vocab-link", "marian", link("vocab.json", "/etc/passwd"), "symbolic link"),
    Hostile("vocab-pipe", "marian", pipe("vocab.json"), "not a regular file"),
    # shards
    Hostile(
        "shard-above",
        "marian",
        sharded(lambda names: dict.fromkeys(names, "../x.safetensors")),
        "shards are .safetensors files of this directory",
    ),
    Hostile(
        "shard-absolute",
        "marian",
        sharded(lambda names: dict.fromkeys(names, "/etc/x.safetensors")),
        "shards are .safetensors files of this directory",
    ),
    Hostile(
        "shard-pickle",
        "marian",
        sharded(lambda names: dict.fromkeys(names, "pytorch_model.bin")),
        "shards are .safetensors files of this directory",
    ),
    Hostile(
        "shard-newline",
        "marian",
        sharded(lambda names: dict.fromkeys(names, "a\n.safetensors")),
        "shards are .safetensors files of this directory",
    ),
    Hostile(
        "shard-number",
        "marian",
        sharded(lambda names: dict.fromkeys(names, 7)),
        "shards are .safetensors files of this directory",
    ),
    Hostile(
        "shard-missing",
        "marian",
        sharded(lambda names: dict.fromkeys(names, "model-2.safetensors")),
        "there is no such file",
    ),
    Hostile(
        "shard-link",
        "marian",
        sharded(lambda names: names, link("model-1.safetensors", "{outside}")),
        "symbolic link",
    ),
    Hostile(
        "shard-pipe", "marian", sharded(lambda names: names, pipe("model-1.safetensors")), "regular file"
    ),
    Hostile("shard-index-empty", "marian", sharded(lambda _: {}), "no weight_map here"),
    Hostile(
        "shard-index-lies",
        "marian",
        sharded(lambda names: {**names, "ghost": "model-1.safetensors"}),
        "'ghost' is not in",
    ),
    # settings
    Hostile(
        "config-missing", "marian", lambda folder: (folder / "config.json").unlink(), "no config.json here"
    ),
    Hostile("config-bom", "marian", text("config.json", b"\xef\xbb\xbf{}"), "not valid JSON"),
    Hostile("config-deep", "marian", text("config.json", DEEP), "nested deeper than"),
    Hostile("config-huge", "marian", text("config.json", b'{"a": "' + b"x" * 17_000_000 + b'"}'), "at most"),
    Hostile(
        "config-twice", "marian", text("config.json", '{"model_type": "bert", "model_type": "t5"}'), "twice"
    ),
    Hostile("config-list", "marian", text("config.json", "[]"), "an object is expected"),
    Hostile(
        "config-unknown-type", "marian", edit("config.json", model_type="evil"), "model_type = 'evil' is"
    ),
    Hostile(
        "config-type-number", "marian", edit("config.json", model_type=3), "model_type = 3 is impossible"
    ),
    Hostile("d_model-zero", "marian", edit("config.json", d_model=0), f"d_model = 0 {IMPOSSIBLE}"),
    Hostile("d_model-negative", "marian", edit("config.json", d_model=-16), f"d_model = -16 {IMPOSSIBLE}"),
    Hostile("d_model-1e12", "marian", edit("config.json", d_model=10**12), IMPOSSIBLE),
    Hostile("d_model-float", "marian", edit("config.json", d_model=16.0), f"d_model = 16.0 {IMPOSSIBLE}"),
    Hostile("d_model-nan", "marian", raw("d_model", "NaN"), "NaN is not a number"),
    Hostile("d_model-string", "marian", edit("config.json", d_model="16"), f"d_model = '16' {IMPOSSIBLE}"),
    Hostile("d_model-true", "marian", edit("config.json", d_model=True), f"d_model = true {IMPOSSIBLE}"),
    Hostile("d_model-odd", "marian", edit("config.json", d_model=18), "does not divide d_model = 18"),
    Hostile("layers-1e9", "marian", edit("config.json", encoder_layers=10**9), IMPOSSIBLE),
    Hostile("vocab-1e9", "marian", edit("config.json", vocab_size=10**9), IMPOSSIBLE),
    Hostile("vocab-other", "marian", edit("config.json", vocab_size=99), "not (99, 16)"),
    Hostile("heads-unequal", "marian", edit("config.json", decoder_attention_heads=2), "equally wide"),
    Hostile("number-of-1000-digits", "marian", raw("d_model", "9" * 1000), "digits is too large"),
    Hostile("activation-unknown", "marian", edit("config.json", activation_function="exec"), "one of relu"),
    Hostile("dropout-string", "marian", edit("config.json", dropout="0.1"), "dropout = '0.1' is impossible"),
    Hostile(
        "generation-beam-1e6",
        "marian",
        text("generation_config.json", '{"num_beams": 1000000}'),
        "num_beams = 1000000 is impossible",
    ),
    Hostile("start-outside", "marian", edit("config.json", decoder_start_token_id=10**6), "an id below"),
    # tokenizers
    Hostile("spm-empty", "marian", text("source.spm", b""), "no single unknown piece"),
    Hostile("spm-noise", "marian", text("source.spm", bytes(range(256)) * 40), "is damaged"),
    Hostile("spm-piece-100-KB", "marian", piece("x" * 100_000), "is damaged (a piece is empty, longer"),
    Hostile("spm-piece-nul", "marian", piece("a\0b"), "contains NUL"),
    Hostile("spm-piece-empty", "marian", piece(""), "a piece is empty"),
    Hostile("spm-endless-number", "marian", text("source.spm", b"\x0a" + b"\xff" * 20), "too long"),
    Hostile("spm-field-past-end", "marian", text("source.spm", b"\x0a\xff\xff\x7f"), "longer than the file"),
    Hostile("spm-bad-charsmap", "marian", bad_charsmap, "precompiled_charsmap of the normalizer"),
    Hostile(
        "vocab-two-with-one-id", "marian", text("vocab.json", '{"a": 0, "b": 0, "<unk>": 1}'), "each once"
    ),
    Hostile("vocab-no-unknown", "marian", text("vocab.json", '{"a": 0, "</s>": 1}'), '"<unk>" is not in'),
    Hostile("tokenizer-regex", "bert", setting("pre_tokenizer", REGEX), "pattern of the pre_tokenizer Split"),
    Hostile("tokenizer-type", "bert", setting("pre_tokenizer", {"type": "Exec"}), "type 'Exec' is not among"),
    Hostile(
        "tokenizer-charsmap",
        "bert",
        setting("normalizer", {"type": "Precompiled", "precompiled_charsmap": CHARSMAP}),
        "precompiled_charsmap of the normalizer",
    ),
    Hostile("tokenizer-no-model", "bert", setting("model", None), "there is no model"),
    Hostile(
        "tokenizer-model-type", "bert", setting("model", {"type": "Python"}), "type 'Python' is not among"
    ),
    Hostile("tokenizer-deep", "bert", text("tokenizer.json", DEEP), "nested deeper than"),
    Hostile(
        "tokenizer-huge", "bert", lambda folder: sparse(folder / "tokenizer.json"), "500 MB; it may have"
    ),
    Hostile(
        "tokenizer-two-with-one-id",
        "bert",
        vocabulary(lambda table: table["model"]["vocab"].update({"twin": 7})),
        "two tokens have the same id",
    ),
    Hostile(
        "tokenizer-special-outside",
        "bert",
        vocabulary(lambda table: table["added_tokens"].append(added(10**9))),
        "has no id",
    ),
    Hostile(
        "tokenizer-more-than-the-model",
        "bert",
        vocabulary(lambda table: table["added_tokens"].append(added(90_000))),
        "but the model knows",
    ),
    Hostile(
        "tokenizer-added-takes-an-id",
        "bert",
        vocabulary(lambda table: table["added_tokens"].append(added(9))),
        "share the id 9",
    ),
    Hostile(
        "tokenizer-added-cyclic",
        "bert",
        setting("added_tokens", {"self": "added_tokens"}),
        "added_tokens is no list",
    ),
    # more of each kind
    Hostile("weights-link-zero", "marian", link("model.safetensors", "/dev/zero"), "symbolic link"),
    Hostile("config-link-zero", "marian", link("config.json", "/dev/zero"), "symbolic link"),
    Hostile("config-link-loop", "marian", link("config.json", "config.json"), "symbolic link"),
    Hostile("tokenizer-link-zero", "bert", link("tokenizer.json", "/dev/zero"), "symbolic link"),
    Hostile("tokenizer-pipe", "bert", pipe("tokenizer.json"), "not a regular file"),
    Hostile("spm-link-zero", "marian", link("target.spm", "/dev/zero"), "symbolic link"),
    Hostile("generation-link", "marian", link("generation_config.json", "{outside}"), "symbolic link"),
    Hostile("index-link", "marian", index_link, "symbolic link"),
    Hostile("pooling-link", "bert", pooled(lambda path: path.symlink_to("/etc")), "symbolic link"),
    Hostile("pooling-pipe", "bert", pooled(folder_with_pipe), "not a regular file"),
    Hostile("pooling-file", "bert", pooled(Path.touch), "1_Pooling"),
    Hostile("header-of-0", "marian", text("model.safetensors", struct.pack("<Q", 0)), "model.safetensors"),
    Hostile("header-utf-16", "marian", head(lambda t, n: (json.dumps(t).encode("utf-16"), n)), "not valid"),
    Hostile("header-list", "marian", head(lambda _, numbers: (b"[1, 2]", numbers)), "model.safetensors"),
    Hostile("tensor-hole", "marian", head(hole), "model.safetensors"),
    Hostile("tensor-in-two-shards", "marian", in_two_shards, "stands there twice"),
    Hostile(
        "shard-backslash",
        "marian",
        sharded(lambda names: dict.fromkeys(names, "..\\x.safetensors")),
        "shards are .safetensors files of this directory",
    ),
    Hostile(
        "shard-below",
        "marian",
        sharded(lambda names: dict.fromkeys(names, "sub/x.safetensors")),
        "shards are .safetensors files of this directory",
    ),
    Hostile(
        "shard-hidden",
        "marian",
        sharded(lambda names: dict.fromkeys(names, ".x.safetensors")),
        "shards are .safetensors files of this directory",
    ),
    Hostile(
        "shards-5000",
        "marian",
        sharded(
            lambda names: {f"{name}{i}": f"{i}.safetensors" for name in list(names)[:1] for i in range(5000)}
        ),
        "shards; 1000 are read at most",
    ),
    Hostile("config-utf-16", "marian", text("config.json", '{"d_model": 8}'.encode("utf-16")), "config.json"),
    Hostile("tokenizer-utf-16", "bert", text("tokenizer.json", "{}".encode("utf-16")), "tokenizer.json"),
    Hostile("d_model-infinite", "marian", raw("d_model", "Infinity"), "is not a number"),
    Hostile("d_model-1e999", "marian", raw("d_model", "1e999"), "d_model"),
    Hostile(
        "sizes-largest-allowed",
        "marian",
        edit(
            "config.json",
            d_model=16_384,
            vocab_size=2_000_000,
            encoder_layers=256,
            decoder_layers=256,
            encoder_ffn_dim=131_072,
            decoder_ffn_dim=131_072,
        ),
        "the weights are not those of config.json",
    ),
    Hostile("generation-beam-1000", "marian", generation(num_beams=1000), "num_beams = 1000 is impossible"),
    Hostile("generation-penalty-text", "marian", generation(length_penalty="1"), "length_penalty = '1' is"),
    Hostile("generation-length-1e12", "marian", generation(min_length=10**12), f"{10**12} {IMPOSSIBLE}"),
    Hostile("generation-ngram-negative", "marian", generation(no_repeat_ngram_size=-1), IMPOSSIBLE),
    Hostile("generation-list", "marian", text("generation_config.json", "[]"), "an object is expected"),
    Hostile("tokenizer-merges-1e6", "bert", vocabulary(many_merges), "tokenizer"),
    Hostile("tokenizer-config-deep", "bert", text("tokenizer_config.json", DEEP), "nested deeper than"),
    Hostile("spm-pieces-3e6", "marian", many_pieces, "source.spm"),
    Hostile("spm-group", "marian", text("source.spm", b"\x0b" * 100_000), "is damaged"),
    Hostile("spm-nested-lies", "marian", text("source.spm", b"\x0a\x05\x0a\x7fabc"), "is damaged"),
    Hostile("vocab-nested", "marian", text("vocab.json", '{"a": {"b": [1]}}'), "each once"),
    Hostile("vocab-utf-16", "marian", text("vocab.json", '{"a": 0}'.encode("utf-16")), "vocab.json"),
]


def added(place: int) -> dict[str, Any]:
    return {"id": place, "content": "<new>", "special": True}


def sparse(path: Path) -> None:
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        file.truncate(500_000_000)


def swap_weights(folder: Path) -> None:
    other = folder.parent / "bert" / "model.safetensors"
    (folder / "model.safetensors").write_bytes(other.read_bytes())
