"""Environments of peers, made in ``benchmarks/peers`` the first time they are asked for.

Each has the torch of this environment. A peer whose declared ranges exclude that, or ask for gigabytes that
training on a CPU never touches, is installed without its dependencies, and those it imports by name.
"""

import importlib.metadata
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "peers"

RECIPES: dict[str, list[list[str]]] = {
    "marian": [["transformers==5.22.2"]],
    "ctranslate2": [["ctranslate2==4.8.4"]],
    "joeynmt": [
        ["--no-deps", "joeynmt==2.3.0"],  # it wants protobuf < 3.21
        ["importlib_metadata", "matplotlib", "packaging", "plotly", "pyyaml", "sacrebleu"],
        ["sentencepiece", "setuptools<81", "subword-nmt", "tensorboard", "tqdm"],
    ],
    "eole": [
        ["--no-deps", "eole==0.6.4"],  # it wants torchcodec, spacy, fastText
        ["configargparse", "datasets", "huggingface_hub", "pandas", "protobuf==7.36.2", "pyahocorasick"],
        ["pydantic", "pyonmttok", "pyyaml", "rapidfuzz", "rich", "sacrebleu", "safetensors"],
        ["sentencepiece", "six", "subword-nmt", "tensorboard", "tokenizers", "torch-optimi"],
    ],
}


class NotInstalled(Exception):
    """A peer cannot be installed here."""


def interpreter(peer: str) -> Path:
    """The Python of a peer's environment, which is made if need be."""
    folder, torch = FOLDER / peer, importlib.metadata.version("torch").partition("+")[0]
    recipe = [[f"torch=={torch}", "numpy"], *RECIPES[peer]]
    python, done = folder / "bin" / "python", folder / "recipe.json"
    if not (done.exists() and json.loads(done.read_text(encoding="utf-8")) == recipe):
        print(f"making the environment of {peer}: {folder}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(folder)])
        for packages in recipe:
            _run([str(python), "-m", "pip", "install", "--quiet", *packages])
        done.write_text(json.dumps(recipe), encoding="utf-8")
    return python


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        raise NotInstalled(f"{' '.join(command[1:])}: {lines[-1]}")
