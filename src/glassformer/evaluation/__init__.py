"""How good a model is, and whether it keeps its promises, in figures that can be compared."""

from glassformer.evaluation.evaluate import Evaluation, evaluate
from glassformer.evaluation.invariance import CHECKS, Check, check_translator
from glassformer.evaluation.scores import Score, TextScores, text_scores, tokenized_bleu
from glassformer.evaluation.significance import Comparison, compare

__all__ = [
    "CHECKS",
    "Check",
    "Comparison",
    "Evaluation",
    "Score",
    "TextScores",
    "check_translator",
    "compare",
    "evaluate",
    "text_scores",
    "tokenized_bleu",
]
