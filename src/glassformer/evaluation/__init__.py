"""How good a model is, and whether it keeps its promises, in figures that can be compared."""

from glassformer.evaluation.accuracy import LabelEvaluation, evaluate_labels
from glassformer.evaluation.checking import Check
from glassformer.evaluation.evaluate import Evaluation, evaluate, evaluate_files
from glassformer.evaluation.invariance import CHECKS, check_model
from glassformer.evaluation.perplexity import TextEvaluation, evaluate_text
from glassformer.evaluation.reference_set import ReferenceSet, read_reference_set
from glassformer.evaluation.scores import (
    TOKENIZERS,
    Score,
    TextScores,
    looks_tokenised,
    text_scores,
    tokenized_bleu,
)
from glassformer.evaluation.significance import Comparison, compare

__all__ = [
    "CHECKS",
    "TOKENIZERS",
    "Check",
    "Comparison",
    "Evaluation",
    "LabelEvaluation",
    "ReferenceSet",
    "Score",
    "TextEvaluation",
    "TextScores",
    "check_model",
    "compare",
    "evaluate",
    "evaluate_files",
    "evaluate_labels",
    "evaluate_text",
    "looks_tokenised",
    "read_reference_set",
    "text_scores",
    "tokenized_bleu",
]
