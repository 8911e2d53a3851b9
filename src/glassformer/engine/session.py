"""Decoding step by step: sentences join and leave between two steps."""

import ctypes
import weakref
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassformer.config import DecodeConfig
from glassformer.engine import abi
from glassformer.engine.hypothesis import Beginning, Hypothesis, Query, Specials
from glassformer.engine.library import Library
from glassformer.engine.packing import Packed, pack_options, pack_queries
from glassformer.engine.unpacking import unpack

_ROOM = 4096


class _Asked(NamedTuple):
    n_inputs: int
    most: int


class Session:
    """Sentences on their way. One thread at a time; whoever comes meanwhile waits."""

    def __init__(self, library: Library, model: ctypes.c_void_p, max_rows: int, owner: object) -> None:
        """``owner`` is what keeps the model alive."""
        self._library, self._owner = library, owner
        self._asked: dict[int, _Asked] = {}
        self._options: tuple[DecodeConfig, Specials, Packed] | None = None
        self._done = (ctypes.c_int32 * _ROOM)()
        self.live = 0
        """Sentences that are not complete."""
        handle = ctypes.c_void_p()
        library.call("gf_session_create", model, max_rows, ctypes.byref(handle))
        self._handle = handle
        self._end = weakref.finalize(self, _free, library, handle, owner)

    def add(
        self,
        query: Query,
        limit: int,
        config: DecodeConfig,
        specials: Specials,
        listed: NDArray[np.int64] | None = None,
    ) -> int:
        """Let a sentence join before the next step; gives the number it is called by. ``Full``: not now."""
        batch = pack_queries([query], [limit], config, None if listed is None else [listed])
        options = self._packed(config, specials)
        slot = ctypes.c_int32()
        self._library.call_briefly(
            "gf_session_add",
            self._handle,
            ctypes.byref(batch.structure),
            ctypes.byref(options.structure),
            ctypes.byref(slot),
        )
        self._asked[slot.value] = _Asked(len(query.ids), len(query.prefix) + limit)
        self.live += 1
        return slot.value

    def _packed(self, config: DecodeConfig, specials: Specials) -> Packed:
        """Options that are mostly those of the sentence before."""
        if self._options is None or self._options[:2] != (config, specials):
            self._options = (config, specials, pack_options(config, specials))
        return self._options[2]

    def step(self) -> list[int]:
        """One token further for every sentence; gives those that are complete now."""
        n_done, n_live = ctypes.c_int32(), ctypes.c_int32()
        self._library.call(
            "gf_session_step", self._handle, self._done, _ROOM, ctypes.byref(n_done), ctypes.byref(n_live)
        )
        self.live = n_live.value
        return list(self._done[: n_done.value])

    def certain(self, slot: int) -> Beginning:
        """What every hypothesis of a sentence begins with, of those that can still win."""
        room = self._asked[slot].most
        ids, values, n = (ctypes.c_int32 * room)(), (ctypes.c_float * room)(), ctypes.c_int32()
        self._library.call_briefly(
            "gf_session_certain", self._handle, slot, ids, values, room, ctypes.byref(n)
        )
        return Beginning(tuple(ids[: n.value]), tuple(values[: n.value]))

    def results(self, slot: int) -> list[Hypothesis]:
        """The hypotheses of a sentence that is complete, best first."""
        found = ctypes.POINTER(abi.Results)()
        self._library.call_briefly("gf_session_results", self._handle, slot, ctypes.byref(found))
        try:
            return unpack(found.contents, [self._asked[slot].n_inputs]).hypotheses[0]
        finally:
            self._library.functions.gf_results_free(found)

    def remove(self, slot: int) -> None:
        """Forget a sentence, complete or not: others may have its room."""
        self._library.call_briefly("gf_session_remove", self._handle, slot)
        del self._asked[slot]

    def close(self) -> None:
        """Give all memory back."""
        self._end()


def _free(library: Library, handle: ctypes.c_void_p, owner: object) -> None:
    """Free the session; holding its owner until then keeps the model alive that it reads."""
    library.functions.gf_session_free(handle)
    del owner
