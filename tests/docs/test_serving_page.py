"""The commands of docs/serving.md do what it says, and the files of deploy/ are what they should be."""

import configparser
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from glassformer.serving.limits import Limits
from tests.serving.running import COPY
from tests.serving.test_life import process

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
COMMANDS = [
    line[2:]
    for block in re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)
    for line in block.splitlines()
]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="the page asks with curl, which is not here")
def test_a_server_answers_the_commands_of_the_page() -> None:
    asked = [command for command in COMMANDS if command.startswith("curl")]
    assert COMMANDS[0].startswith("glassformer serve") and len(asked) >= 5
    with process(f"en-fr={COPY}") as server:
        server.ready()
        answers = [_run(command.replace("http://127.0.0.1:8000", server.url)) for command in asked]

    assert all('"status":4' not in answer and '"error"' not in answer for answer in answers)
    assert '{"status":"ready"}' in answers[0]
    assert '"translations"' in answers[1]
    assert "event: done" in answers[2]
    assert '"translatedText"' in answers[3]


def test_the_key_of_the_page_is_long_enough() -> None:
    (command,) = [command for command in COMMANDS if "token_urlsafe" in command]
    name, _, key = _run(command.replace("python", sys.executable, 1)).strip().partition("=")

    assert name == "GLASSFORMER_API_KEY" and len(key) >= 22


def test_the_limits_of_the_page_are_the_defaults() -> None:
    limits = Limits()
    told = {
        "16 KiB, 256 KiB": (limits.max_header_bytes, limits.max_body_bytes) == (16 << 10, 256 << 10),
        "| 5 s, 10 s |": (limits.header_seconds, limits.request_seconds) == (5, 10),
        "64, 5,000, 512": (limits.max_inputs, limits.max_characters, limits.max_input_tokens)
        == (64, 5000, 512),
        "| 8, 8 |": (limits.max_beam, limits.max_samples) == (8, 8),
        "128, 32,768": (limits.max_queue, limits.max_queue_tokens) == (128, 32768),
        "| 30 s |": limits.deadline_seconds == 30,
        "| 256 |": limits.max_connections == 256,
        "80 %": limits.max_memory_share == 0.8,
    }

    assert [words for words, true in told.items() if not true or words not in PAGE] == []


def test_the_container_file_keeps_the_rules() -> None:
    """The rules that linters of container files have: known instructions, a version, no root, exec form."""
    text = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("#")]
    names = [line.split()[0] for line in lines]
    known = {
        "FROM",
        "WORKDIR",
        "COPY",
        "RUN",
        "USER",
        "ENV",
        "EXPOSE",
        "STOPSIGNAL",
        "HEALTHCHECK",
        "ENTRYPOINT",
        "CMD",
    }

    assert set(names) <= known
    assert all(":" in line and "latest" not in line for line in lines if line.startswith("FROM"))
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert next(line for line in lines if line.startswith("USER")).split()[1].isdecimal()
    assert all(
        line.split(" ", 1)[1].startswith("[") for line in lines if line.startswith(("CMD", "ENTRYPOINT"))
    )
    assert all("--no-cache-dir" in line for line in lines if "pip install" in line)
    for line in lines:
        if line.startswith("COPY") and "--from" not in line:
            assert all((ROOT / name).exists() for name in line.split()[1:-1])


def test_the_unit_keeps_the_rules() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # keys have capitals
    unit.read(ROOT / "deploy" / "glassformer.service")

    assert unit.sections() == ["Unit", "Service", "Install"]
    service = unit["Service"]
    assert service["KillSignal"] == "SIGTERM"
    assert float(service["TimeoutStopSec"]) > Limits().drain_seconds
    assert "glassformer serve" in service["ExecStart"] and service["DynamicUser"] == "yes"
    assert all(service[name] == "yes" for name in ("NoNewPrivileges", "ProtectHome", "PrivateTmp"))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here to check its unit")
def test_systemd_has_nothing_to_say_about_the_unit() -> None:
    command = ["systemd-analyze", "verify", str(ROOT / "deploy" / "glassformer.service")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    told = [line for line in done.stderr.split("\n") if line and "glassformer.service" in line]

    assert [line for line in told if "is not executable" not in line] == []  # it is not installed here


def test_the_proxy_keeps_the_rules() -> None:
    text = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")

    assert text.count("{") == text.count("}")
    assert all(
        line.split("#")[0].rstrip()[-1:] in "{};" for line in text.split("\n") if line.split("#")[0].strip()
    )
    assert "proxy_buffering off" in text and "client_max_body_size 256k" in text


def _run(command: str) -> str:
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=120, check=False, env={**os.environ}
    )
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout
