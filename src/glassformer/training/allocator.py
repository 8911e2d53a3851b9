"""How freed memory is treated while training.

Activations of tens of megabytes are allocated and freed in every step. glibc hands blocks of that size back
to the system at once, which gives them out again page by page, zeroed: in a step of the paper's base model
that costs about a twentieth of the time.
"""

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
"""From glibc's malloc.h."""


def keep_freed_memory() -> bool:
    """Let this process keep freed memory for its next step; False where its C library has no such switch."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    # Large blocks come from the heap instead of mappings of their own, and the heap never shrinks.
    return bool(mallopt(_M_MMAP_MAX, 0)) and bool(mallopt(_M_TRIM_THRESHOLD, 2**31 - 1))
