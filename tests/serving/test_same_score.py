"""Validation in training, ``eval`` and a server give one score, to the last digit."""

from glassformer.decoding import Translator
from glassformer.evaluation.scores import text_scores
from glassformer.training import RunDirectory
from tests.serving.running import Running, wait_until
from tests.support.runs import figures
from tests.support.trained import corpus, trained

VALIDATED = 20
"""Sentences that the training run translated to validate."""


def test_what_a_server_answers_scores_as_validation_did() -> None:
    """``eval`` = validation is held by tests/cli/test_judge.py; here the server joins them."""
    run = trained("translator")
    sources, targets = (
        (corpus("translator") / f"valid.{side}").read_text().splitlines()[:VALIDATED] for side in ("en", "fr")
    )
    validation = [values for split, _, values in figures(RunDirectory(run)) if split == "valid"][-1]
    with Running({"en-fr": Translator.from_pretrained(run)}) as server:
        wait_until(lambda: server.client.get("/readyz").status_code == 200)
        answer = server.post("/v1/translate", text=sources).json()
    found = [each["text"] for each in answer["translations"]]
    scores = text_scores(found, [[target] for target in targets])

    assert (scores.bleu.value, scores.chrf.value) == (validation["bleu"], validation["chrf"])
