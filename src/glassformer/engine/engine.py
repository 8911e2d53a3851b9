"""A model in the native engine: made once from a model directory, then asked from any number of threads."""

import ctypes
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Event, Thread, current_thread, main_thread
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from glassformer.checkpoint.model_files import WEIGHTS, ModelFiles
from glassformer.checkpoint.storage import restore
from glassformer.config import DecodeConfig, ModelConfig
from glassformer.engine import abi
from glassformer.engine.hypothesis import Hypothesis, Query, Specials
from glassformer.engine.kernels import FAST_INT8, usable_kernels
from glassformer.engine.library import Library, NotNative, load_library
from glassformer.engine.packing import (
    PLAIN,
    Manner,
    Packed,
    pack_config,
    pack_inputs,
    pack_options,
    pack_queries,
    pointer,
    ragged,
)
from glassformer.engine.parameters import parameter_shapes
from glassformer.engine.session import Session
from glassformer.engine.unpacking import Answers, unpack
from glassformer.errors import CheckpointError

Precision = Literal["auto", "float32", "int8"]
"""How the engine multiplies. ``auto``: as the model was stored, which is what its maker has judged."""

Lists = Sequence[NDArray[np.int64]]
_GREEDY = DecodeConfig(beam=1)


@dataclass(frozen=True, slots=True)
class Given:
    """An output whose probability is asked for."""

    input: tuple[int, ...]
    ids: tuple[int, ...]
    finished: bool = True


class Engine:
    """The model, packed for the kernels of this CPU. Answers depend on each query alone."""

    def __init__(
        self,
        config: ModelConfig,
        parameters: Mapping[str, NDArray[np.float32]],
        precision: Literal["float32", "int8"] = "float32",
        *,
        kernels: str | None = None,
        threads: int | None = None,
    ) -> None:
        """``parameters`` are copied. Without ``kernels`` the best are chosen; ``threads`` share a batch."""
        if config.family == "encoder-only":
            raise NotNative("an encoder-only model")
        self._library = load_library()
        usable_kernels()  # what needs a trial has had it before the library chooses
        self.config = config
        self.threads = threads or _cores()
        self._handle = self._create(parameters, precision, kernels)
        weakref.finalize(self, self._library.functions.gf_model_free, self._handle)
        info = abi.ModelInfo(size=ctypes.sizeof(abi.ModelInfo))
        self._library.functions.gf_model_describe(self._handle, ctypes.byref(info))
        self.kernels: str = info.kernels.decode()
        self.precision: Literal["float32", "int8"] = "int8" if info.precision == abi.INT8 else "float32"
        self.weight_bytes: int = info.weight_bytes

    @classmethod
    def load(
        cls,
        files: ModelFiles,
        precision: Precision = "auto",
        *,
        kernels: str | None = None,
        threads: int | None = None,
    ) -> Self:
        """The engine of an open model directory."""
        config = files.config
        if config.family == "encoder-only":
            raise NotNative("an encoder-only model")
        usable = usable_kernels()  # before the weights are read: without a library there is no need to
        if precision == "auto":
            fast = (kernels or usable[0]) in FAST_INT8
            precision = "int8" if files.storage == "int8" and fast else "float32"
        shapes = parameter_shapes(config)
        tensors = files.read(shapes)
        parameters = {name: restore(name, tensors) for name in shapes}
        for name, values in parameters.items():
            if not np.isfinite(values).all():
                raise CheckpointError(
                    f"{files.directory / WEIGHTS}: {name!r} is not finite; the model is of no use"
                )
        return cls(config, parameters, precision, kernels=kernels, threads=threads)

    @property
    def name(self) -> str:
        """What runs, for people: ``native int8 (avx512vnni)``."""
        return f"native {self.precision} ({self.kernels})"

    @staticmethod
    def cannot(queries: Sequence[Query], config: DecodeConfig) -> str:
        """Why this cannot be asked of the native engine; empty where it can."""
        if any(query.required for query in queries):
            return "required terms"
        if config.beam_groups > 1:
            return f"beam_groups = {config.beam_groups}"
        if config.coverage > 0:
            return f"coverage = {config.coverage}"
        return ""

    def decode(
        self,
        queries: Sequence[Query],
        limits: Sequence[int],
        config: DecodeConfig,
        specials: Specials,
        *,
        lists: Lists | None = None,
        manner: Manner = PLAIN,
    ) -> Answers:
        """For each query its hypotheses, best first; ``limits`` are the most tokens of each output.

        With ``lists``, only those ids of each query are considered, and probabilities are over them.
        """
        if not queries:
            return Answers([], [])
        batch = pack_queries(queries, limits, config, lists)
        options = pack_options(config, specials, threads=self.threads, manner=manner)
        lengths = [len(query.ids) for query in queries]
        return self._results("gf_translate", batch, (), options, lengths)

    def score(
        self, given: Sequence[Given], specials: Specials, manner: Manner = PLAIN
    ) -> tuple[list[Hypothesis], list[NDArray[np.float32]]]:
        """What the model thinks of given outputs, and the attention of their steps where it is asked for.

        The attention has one row more than there are ids: what the step looked at that follows the last.
        """
        if not given:
            return [], []
        batch = pack_inputs([each.input for each in given])
        targets, offsets = ragged([each.ids for each in given])
        finished = np.array([each.finished for each in given], dtype=np.uint8)
        options = pack_options(_GREEDY, specials, threads=self.threads, manner=manner)
        told = (pointer(targets), pointer(offsets), pointer(finished))
        lengths = [len(each.input) for each in given]
        answers = self._results("gf_score", batch, told, options, lengths)
        weights = [rows[0] for rows in answers.attention] if manner.layer is not None else []
        return [found[0] for found in answers.hypotheses], weights

    def session(self, max_rows: int = 0) -> Session:
        """Decoding step by step, with sentences that come and go; at most so many hypotheses side by side."""
        return Session(self._library, self._handle, max_rows, owner=self)

    def _create(
        self, parameters: Mapping[str, NDArray[np.float32]], precision: str, kernels: str | None
    ) -> ctypes.c_void_p:
        held = {name: np.ascontiguousarray(values, dtype=np.float32) for name, values in parameters.items()}
        tensors = (abi.Tensor * len(held))(*(_tensor(name, values) for name, values in held.items()))
        handle = ctypes.c_void_p()
        self._library.call(
            "gf_model_create",
            ctypes.byref(pack_config(self.config)),
            tensors,
            len(held),
            abi.INT8 if precision == "int8" else abi.FLOAT32,
            None if kernels is None else kernels.encode(),
            ctypes.byref(handle),
        )
        return handle

    def _results(
        self, name: str, batch: Packed, more: tuple[Any, ...], options: Packed, lengths: list[int]
    ) -> Answers:
        cancel = ctypes.c_int32(0)
        options.structure.cancel = ctypes.pointer(cancel)
        found = ctypes.POINTER(abi.Results)()
        library: Library = self._library

        def call() -> None:
            library.call(
                name,
                self._handle,
                ctypes.byref(batch.structure),
                *more,
                ctypes.byref(options.structure),
                ctypes.byref(found),
            )

        if len(lengths) > 1:
            _interruptibly(call, cancel)
        else:
            call()
        try:
            return unpack(found.contents, lengths)
        finally:
            library.functions.gf_results_free(found)


def _interruptibly(call: Callable[[], None], cancel: ctypes.c_int32) -> None:
    """A long call that Ctrl-C stops: the main thread only waits, since signals reach it between calls."""
    if current_thread() is not main_thread():
        call()
        return
    failed: list[BaseException] = []
    done = Event()  # not Thread.join, which after an interruption takes a running thread for stopped

    def work() -> None:
        try:
            call()
        except BaseException as error:  # told to whoever waits
            failed.append(error)
        finally:
            done.set()

    Thread(target=work, name="glassformer-engine").start()
    try:
        done.wait()
    except BaseException:
        cancel.value = 1
        _wait_whatever_comes(done)  # what the library reads must live until it has returned
        raise
    if failed:
        raise failed[0]


def _wait_whatever_comes(done: Event) -> None:
    while not done.is_set():
        with suppress(BaseException):
            done.wait()


def _tensor(name: str, values: NDArray[np.float32]) -> abi.Tensor:
    rows, columns = values.shape if values.ndim == 2 else (values.size, 1)
    return abi.Tensor(name.encode(), values.ctypes.data, (rows, columns), values.ndim)


def _cores() -> int:
    """The processors that this program may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
