"""A contestant's process: it answers in JSON, a line for each question, and lives through all rounds."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


class CannotRun(Exception):
    """A contestant did not start, or died."""


class Conversation:
    """A process that greets when it is ready, then answers."""

    def __init__(self, command: Sequence[str], log: Path, *, threads: int, own: bool) -> None:
        """``own`` contestants find the package of this repository; the others must not."""
        self._log = log
        paths = [ROOT, ROOT / "src"] if own else [ROOT]
        environment = os.environ | {
            "OMP_NUM_THREADS": str(threads),
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "PYTHONWARNINGS": "ignore",
        }
        with log.open("w", encoding="utf-8") as file:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, cwd=ROOT, env=environment
            )
        self.greeting = self._answer()

    def ask(self, question: object) -> dict[str, Any]:
        """Its answer."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the answer will tell why
        return self._answer()

    def close(self) -> None:
        """Let the process end."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.communicate()
            said = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise CannotRun(said[-1] if said else f"ended with exit code {self._process.returncode}")
        answer: dict[str, Any] = json.loads(line)
        return answer
