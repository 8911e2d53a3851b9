"""Every command and every piece of Python in the README runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from glassformer.text.phrasebook import write_corpus

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BY_MAKE = ("make demo", "make test")  # CI runs these themselves
SERVERS = ("glassformer serve", "glassformer explore")  # until somebody stops them

SMALL = {  # as a user would who has no minutes to spare
    "GLASSFORMER_TRAIN__STEPS": "8",
    "GLASSFORMER_TRAIN__VALIDATE_EVERY": "4",
    "GLASSFORMER_TRAIN__VALID_SENTENCES": "4",
    "GLASSFORMER_TRAIN__BATCH_TOKENS": "256",
    "GLASSFORMER_TOKENIZER__VOCAB_SIZE": "400",
    "GLASSFORMER_MODEL__D_MODEL": "32",
    "GLASSFORMER_MODEL__D_FF": "64",
    "GLASSFORMER_DECODE__MAX_EXTRA": "5",
    "OMP_NUM_THREADS": "1",
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | SMALL | {"PATH": programs}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def serve_a_moment(command: str, folder: Path) -> None:
    """Start a server, see that it says where it is, stop it."""
    environment = os.environ | SMALL | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    given = [*command.split(), *(["--no-open"] if "explore" in command else [])]
    with subprocess.Popen(
        given, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        assert server.stdout is not None
        said = ""
        for line in server.stdout:
            said += line
            if "http://127.0.0.1" in line:
                break
        server.terminate()
        said += server.stdout.read()
    assert "http://127.0.0.1" in said, f"{command}\n{said}"


@pytest.mark.slow
def test_the_commands_and_the_python_of_the_readme_run(tmp_path: Path) -> None:
    """In their order, in one folder: later ones use what earlier ones made."""
    write_corpus(tmp_path, 120, 10, 10, seed=1, level="simple")
    commands = [line[2:].split("  #")[0] for block in blocks("console") for line in block.splitlines()]
    pieces = blocks("python")
    assert len(commands) >= 8 and len(pieces) >= 2
    for command in commands:
        if command.startswith(SERVERS):
            serve_a_moment(f"{command} --port 0", tmp_path)
        elif command.strip() not in BY_MAKE:
            done = run(["bash", "-c", command], tmp_path)
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    for piece in pieces:
        done = run([sys.executable, "-c", piece], tmp_path)
        assert done.returncode == 0, f"{piece}\n{done.stderr}"


PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]

    assert missing == []
