"""Texts of a request: counted, measured and cut into tokens before anything is asked of a model."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from glassformer.errors import GlassformerError
from glassformer.serving.limits import Limits
from glassformer.serving.problems import Problem

T = TypeVar("T")

_SHORT = 1_000
"""Characters that are read sooner than they could be handed to another thread."""


class Reader:
    """Reads long texts on a thread of its own, so that they hold up nobody else."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._thread = ThreadPoolExecutor(1, "glassformer-text")

    def texts(self, given: str | list[str]) -> list[str]:
        """The texts of a request, if they are few and short enough."""
        texts = [given] if isinstance(given, str) else given
        if len(texts) > self._limits.max_inputs:
            raise Problem(
                "too_many_inputs",
                f"there are {len(texts)} texts; one request may have {self._limits.max_inputs}",
            )
        for i, text in enumerate(texts):
            self.check_length(text, place(i, len(texts)))
        return texts

    def check_length(self, text: str, where: str = "") -> None:
        """Refuse a text of too many characters."""
        most = self._limits.max_characters
        if len(text) > most:
            raise Problem("input_too_long", f"{where}a text of {len(text)} characters; {most} are read")

    def check_tokens(self, counts: Sequence[int], most: int) -> None:
        """Refuse a sentence of too many tokens."""
        for i, count in enumerate(counts):
            if count > most:
                raise Problem(
                    "input_too_long",
                    f"{place(i, len(counts))}a sentence of {count} tokens; {most} are read",
                    hint='set "split": true, or send shorter sentences',
                )

    async def run(self, texts: Sequence[str], function: Callable[..., T], *arguments: Any) -> T:
        """What a function makes of arguments that hold these texts, in time."""
        try:
            if sum(map(len, texts)) <= _SHORT:
                return function(*arguments)
            work = asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)
            return await asyncio.wait_for(work, self._limits.deadline_seconds)
        except TimeoutError:
            raise Problem("deadline", "reading the texts took too long") from None
        except GlassformerError as error:
            raise Problem("invalid_parameter", str(error)) from None

    def close(self) -> None:
        """Read no more."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def place(i: int, n: int) -> str:
    """How a message names a text: not at all if there is but one."""
    return f"text {i + 1}: " if n > 1 else ""
