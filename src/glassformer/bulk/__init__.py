"""A whole corpus through a translator, on many machines: in shards that are done once and found again."""

from glassformer.bulk.job import Job, translate_file
from glassformer.bulk.shards import Shards

__all__ = ["Job", "Shards", "translate_file"]
