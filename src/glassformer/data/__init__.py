"""Ids to batches: a memory-mapped store, an order that a number finds again, and batches as tensors."""

from glassformer.data.batch import NO_LABEL, Batch
from glassformer.data.building import build_store, store_fingerprint
from glassformer.data.sampler import BatchOrder, BucketPlan, WindowPlan, fill
from glassformer.data.store import TokenStore
from glassformer.data.stream import Batches, BatchStream, Position
from glassformer.data.writing import StoreOptions

__all__ = [
    "NO_LABEL",
    "Batch",
    "BatchOrder",
    "BatchStream",
    "Batches",
    "BucketPlan",
    "Position",
    "StoreOptions",
    "TokenStore",
    "WindowPlan",
    "build_store",
    "fill",
    "store_fingerprint",
]
