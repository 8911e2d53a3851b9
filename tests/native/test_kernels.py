"""The kernels of the native engine through its C interface: they agree, and a trial is safe."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from glassformer.config import DecodeConfig, ModelConfig
from glassformer.engine import LIBRARY, Engine, Query, Specials, usable_kernels
from glassformer.engine.library import load_library
from glassformer.engine.parameters import parameter_shapes

HEADER = Path(__file__).parents[2] / "native" / "include" / "glassformer.h"
SPECIALS = Specials(1, 2, 0, (0, 1))

pytestmark = pytest.mark.skipif(
    not LIBRARY.is_file(), reason="the native engine is not built; run python native/build.py"
)


def random_engine(config: ModelConfig, kernels: str | None = None, precision: str = "int8") -> Engine:
    """The same random weights for the same architecture."""
    draw = np.random.default_rng(3)
    weights = {
        name: (draw.normal(size=shape) * 0.3 + name.endswith("norm.weight")).astype(np.float32)
        for name, shape in parameter_shapes(config).items()
    }
    return Engine(config, weights, "int8" if precision == "int8" else "float32", kernels=kernels, threads=1)


def queries(n: int, vocab_size: int) -> list[Query]:
    draw = np.random.default_rng(5)
    rows = [draw.integers(3, vocab_size, size=draw.integers(1, 12)) for _ in range(n)]
    return [Query(tuple(map(int, row)), index=(i,)) for i, row in enumerate(rows)]


@pytest.mark.parametrize("name", ["avx512vnni", "avx2", "portable"])
def test_every_kernel_agrees_with_its_portable_twin(name: str) -> None:
    library = load_library()
    if not library.functions.gf_kernels_available(name.encode()):
        pytest.skip(f"this processor has no {name}")

    library.call("gf_kernels_trial", name.encode())


def test_a_trial_of_amx_ends_in_its_own_process() -> None:
    """Whether the processor has it, lacks it or lies, whoever asks in a child process lives on."""
    code = (
        "from glassformer.engine.library import load_library; load_library().call('gf_kernels_trial', b'amx')"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode <= 0 or "cannot run here" in done.stderr or "wrong results" in done.stderr


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("d_model", [20, 64])
def test_int8_gives_the_same_bits_on_every_processor(d_model: int, beam: int) -> None:
    config = ModelConfig(
        vocab_size=97,
        d_model=d_model,
        d_ff=48,
        n_heads=4,
        n_encoder_layers=2,
        n_decoder_layers=2,
        max_length=32,
    )
    asked = queries(20, config.vocab_size)
    how = DecodeConfig(beam=beam, nbest=min(beam, 2))
    limits = [12] * len(asked)

    found = [random_engine(config, name).decode(asked, limits, how, SPECIALS) for name in usable_kernels()]

    assert all(each.hypotheses == found[0].hypotheses for each in found)


def test_int8_is_near_float32() -> None:
    config = ModelConfig(vocab_size=97, d_model=64, d_ff=128, n_heads=4, norm="pre", max_length=32)
    asked, how = queries(12, config.vocab_size), DecodeConfig(beam=1)
    limits = [1] * len(asked)

    exact = random_engine(config, precision="float32").decode(asked, limits, how, SPECIALS)
    close = random_engine(config).decode(asked, limits, how, SPECIALS)

    for a, b in zip(exact.hypotheses, close.hypotheses, strict=True):
        assert abs(a[0].log_probability - b[0].log_probability) < 1.0


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_the_header_is_plain_c() -> None:
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-x", "c"]

    done = subprocess.run([*command, str(HEADER)], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
