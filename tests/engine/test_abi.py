"""The structures of abi.py are those that a compiler makes of the header."""

import ctypes
import re
import subprocess
from pathlib import Path

import pytest

from glassformer.engine import abi, library
from glassformer.nn import native
from tests.engine.native import ROOT, builder, needs_compiler

HEADER = ROOT / "native" / "include" / "glassformer.h"
STRUCTURES: dict[str, type[ctypes.Structure]] = {
    "gf_config": abi.Config,
    "gf_tensor": abi.Tensor,
    "gf_model_info": abi.ModelInfo,
    "gf_options": abi.Options,
    "gf_batch": abi.Batch,
    "gf_results": abi.Results,
    "gf_heads": native.Heads,
    "gf_attention": native.Attention,
}


def fields(structure: type[ctypes.Structure]) -> list[str]:
    return [entry[0] for entry in structure._fields_]


@needs_compiler
def test_sizes_and_places_are_those_of_the_header(tmp_path: Path) -> None:
    lines = [
        f'printf("{name} %zu", sizeof({name}));'
        + "".join(f'printf(" %zu", offsetof({name}, {field}));' for field in fields(structure))
        + 'printf("\\n");'
        for name, structure in STRUCTURES.items()
    ]
    source = tmp_path / "layout.cpp"
    source.write_text(
        f'#include <cstddef>\n#include <cstdio>\n#include "{HEADER}"\nint main() {{ {"".join(lines)} }}\n'
    )
    program = tmp_path / "layout"
    subprocess.run([builder().find_compiler(), str(source), "-o", str(program)], check=True)
    told = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.splitlines()

    for line, (name, structure) in zip(told, STRUCTURES.items(), strict=True):
        places = [getattr(structure, field).offset for field in fields(structure)]

        assert line.split() == [name, *map(str, [ctypes.sizeof(structure), *places])]


@pytest.mark.parametrize("name", STRUCTURES)
def test_no_field_is_missing(name: str) -> None:
    body = re.search(rf"typedef struct {name} {{(.*?)\n}} {name};", HEADER.read_text(), re.DOTALL)
    assert body is not None
    code = re.sub(r"/\*.*?\*/", "", body[1], flags=re.DOTALL)
    declared = re.findall(r"(\w+)(?:\[\d+\])?;", code)

    assert fields(STRUCTURES[name]) == declared


def test_training_and_translating_open_the_same_library() -> None:
    assert native.LIBRARY == library.LIBRARY


def test_every_function_is_declared() -> None:
    declared = set(re.findall(r"\b(gf_\w+)\(", re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)))

    assert declared == {*abi._STATUS, *abi._ANSWER, *native.FUNCTIONS}


def test_numbers_are_those_of_the_header() -> None:
    text = HEADER.read_text()

    assert re.search(rf"#define GF_ABI_VERSION {abi.VERSION}\b", text)
    for name in ("OK", "INVALID", "UNSUPPORTED", "NO_MEMORY", "CANCELLED", "FULL", "INTERNAL"):
        assert re.search(rf"GF_{name} = {getattr(abi, name)}\b", text)
