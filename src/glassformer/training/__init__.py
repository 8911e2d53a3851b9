"""Batches to a trained model: updates, validations, checkpoints, exact resume."""

from glassformer.training.distributed import Workers
from glassformer.training.events import LineFile, Progress, Sample, Several, Silent, Validation, read_metrics
from glassformer.training.launch import spawn
from glassformer.training.plots import draw_run, draw_runs
from glassformer.training.precision import bfloat16_works
from glassformer.training.run import RunDirectory, circumstances, moved
from glassformer.training.step import Update, update
from glassformer.training.tracking import TensorBoard
from glassformer.training.trainer import Job, Trainer
from glassformer.training.validation import DecodeValid, TextScores

__all__ = [
    "DecodeValid",
    "Job",
    "LineFile",
    "Progress",
    "RunDirectory",
    "Sample",
    "Several",
    "Silent",
    "TensorBoard",
    "TextScores",
    "Trainer",
    "Update",
    "Validation",
    "Workers",
    "bfloat16_works",
    "circumstances",
    "draw_run",
    "draw_runs",
    "moved",
    "read_metrics",
    "spawn",
    "update",
]
