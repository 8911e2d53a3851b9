"""The structures and functions of ``native/include/glassformer.h``, as ctypes sees them."""

import ctypes
from collections.abc import Sequence

VERSION = 1
"""The interface that this package was written for."""

OK, INVALID, UNSUPPORTED, NO_MEMORY, CANCELLED, FULL, INTERNAL = range(7)
FLOAT32, INT8 = range(2)

_INT32, _INT64 = ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(ctypes.c_int64)
_UINT8, _UINT64 = ctypes.POINTER(ctypes.c_uint8), ctypes.POINTER(ctypes.c_uint64)
_FLOAT, _DOUBLE = ctypes.POINTER(ctypes.c_float), ctypes.POINTER(ctypes.c_double)
_ERROR = (ctypes.c_char_p, ctypes.c_size_t)


class Config(ctypes.Structure):
    """``gf_config``."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        *(
            (name, ctypes.c_int32)
            for name in (
                "family",
                "vocab_size",
                "source_vocab_size",
                "max_length",
                "d_model",
                "d_ff",
                "n_heads",
                "n_kv_heads",
                "d_k",
                "d_v",
                "n_encoder_layers",
                "n_decoder_layers",
                "positions",
                "relative_buckets",
                "relative_max_distance",
                "norm",
                "norm_kind",
                "activation",
                "tying",
            )
        ),
        *(
            (name, ctypes.c_uint8)
            for name in ("embedding_norm", "gated", "bias", "output_bias", "scale_embedding")
        ),
        ("unused", ctypes.c_uint8 * 3),
        ("rotary_base", ctypes.c_double),
        ("norm_epsilon", ctypes.c_double),
    ]


class Tensor(ctypes.Structure):
    """``gf_tensor``."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("shape", ctypes.c_int64 * 2),
        ("rank", ctypes.c_int32),
    ]


class ModelInfo(ctypes.Structure):
    """``gf_model_info``."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        ("precision", ctypes.c_int32),
        ("kernels", ctypes.c_char_p),
        ("weight_bytes", ctypes.c_int64),
    ]


class Options(ctypes.Structure):
    """``gf_options``."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        ("start_id", ctypes.c_int32),
        ("end_id", ctypes.c_int32),
        ("beam", ctypes.c_int32),
        ("nbest", ctypes.c_int32),
        ("length_penalty", ctypes.c_int32),
        ("alpha", ctypes.c_double),
        ("min_length", ctypes.c_int32),
        ("max_length", ctypes.c_int32),
        ("max_extra", ctypes.c_int32),
        ("no_repeat_ngram", ctypes.c_int32),
        ("repetition_penalty", ctypes.c_double),
        ("sampling", ctypes.c_int32),
        ("top_k", ctypes.c_int32),
        ("temperature", ctypes.c_double),
        ("top_p", ctypes.c_double),
        ("min_p", ctypes.c_double),
        ("seed", ctypes.c_uint64),
        ("suppressed", _INT32),
        ("n_suppressed", ctypes.c_int32),
        ("want_scores", ctypes.c_int32),
        ("want_alignment", ctypes.c_int32),
        ("alignment_layer", ctypes.c_int32),
        ("alignment_head", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("batch_rows", ctypes.c_int32),
        ("cancel", _INT32),
        ("stop_after", ctypes.c_int32),
        ("unused_end", ctypes.c_int32),
    ]


class Batch(ctypes.Structure):
    """``gf_batch``."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        ("n", ctypes.c_int32),
        ("ids", _INT32),
        ("offsets", _INT64),
        ("prefix", _INT32),
        ("prefix_offsets", _INT64),
        ("limits", _INT32),
        ("shortlist", _INT32),
        ("shortlist_offsets", _INT64),
        ("forbidden", _INT32),
        ("forbidden_offsets", _INT64),
        ("forbidden_sequences", _INT64),
        ("dice", _UINT64),
    ]


class Results(ctypes.Structure):
    """``gf_results``."""

    _fields_ = [
        ("n", ctypes.c_int32),
        ("n_hypotheses", ctypes.c_int64),
        ("hypotheses", _INT64),
        ("id_offsets", _INT64),
        ("ids", _INT32),
        ("token_offsets", _INT64),
        ("token_log_probabilities", _FLOAT),
        ("scores", _DOUBLE),
        ("log_probabilities", _DOUBLE),
        ("finished", _UINT8),
        ("n_forced", _INT32),
        ("alignment_offsets", _INT64),
        ("alignment", _FLOAT),
    ]


_HANDLE = ctypes.c_void_p
_OUT = ctypes.POINTER(ctypes.c_void_p)
_RESULTS = ctypes.POINTER(ctypes.POINTER(Results))
_BATCH, _OPTIONS = ctypes.POINTER(Batch), ctypes.POINTER(Options)

# Names without an answer give a status and end with a place for a message.
_STATUS: dict[str, Sequence[type]] = {
    "gf_kernels_trial": (ctypes.c_char_p,),
    "gf_kernels_allow": (ctypes.c_char_p,),
    "gf_model_create": (
        ctypes.POINTER(Config),
        ctypes.POINTER(Tensor),
        ctypes.c_int32,
        ctypes.c_int32,
        ctypes.c_char_p,
        _OUT,
    ),
    "gf_translate": (_HANDLE, _BATCH, _OPTIONS, _RESULTS),
    "gf_score": (_HANDLE, _BATCH, _INT32, _INT64, _UINT8, _OPTIONS, _RESULTS),
    "gf_session_create": (_HANDLE, ctypes.c_int32, _OUT),
    "gf_session_add": (_HANDLE, _BATCH, _OPTIONS, _INT32),
    "gf_session_step": (_HANDLE, _INT32, ctypes.c_int32, _INT32, _INT32),
    "gf_session_certain": (_HANDLE, ctypes.c_int32, _INT32, _FLOAT, ctypes.c_int32, _INT32),
    "gf_session_results": (_HANDLE, ctypes.c_int32, _RESULTS),
    "gf_session_remove": (_HANDLE, ctypes.c_int32),
}
_ANSWER: dict[str, tuple[type | None, Sequence[type]]] = {
    "gf_abi_version": (ctypes.c_int32, ()),
    "gf_kernels_count": (ctypes.c_int32, ()),
    "gf_kernels_name": (ctypes.c_char_p, (ctypes.c_int32,)),
    "gf_kernels_available": (ctypes.c_int32, (ctypes.c_char_p,)),
    "gf_kernels_claimed": (ctypes.c_int32, (ctypes.c_char_p,)),
    "gf_model_free": (None, (_HANDLE,)),
    "gf_model_describe": (ctypes.c_int32, (_HANDLE, ctypes.POINTER(ModelInfo))),
    "gf_results_free": (None, (ctypes.POINTER(Results),)),
    "gf_session_free": (None, (_HANDLE,)),
    "gf_memory_sentence": (ctypes.c_int64, (_HANDLE, _OPTIONS, ctypes.c_int32, ctypes.c_int32)),
    "gf_memory_fixed": (ctypes.c_int64, (_HANDLE, ctypes.c_int32)),
}


def declare(library: ctypes.CDLL) -> None:
    """Tell ctypes the types of every function, so that a wrong call is an exception and not a crash."""
    for name, arguments in _STATUS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = ctypes.c_int32, (*arguments, *_ERROR)
    for name, (answer, arguments) in _ANSWER.items():
        function = getattr(library, name)
        function.restype, function.argtypes = answer, tuple(arguments)
