"""Lens, head figures, arithmetic of a cell, streams, named tensors, the beam as a tree, and comparisons."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
import torch

import glassformer as gf
from glassformer.config import ModelConfig
from glassformer.decoding import TextEncoder, Translator
from glassformer.errors import InputError
from glassformer.nn import EncoderDecoder, build_model
from glassformer.probe import Trace, explain, look
from glassformer.probe.anatomy import stacks
from glassformer.probe.beam import BeamLog, finished_nodes
from glassformer.probe.cell import cell
from glassformer.probe.heads import head_figures
from glassformer.probe.lens import depths, lens_cells, lens_logits, lens_stack
from glassformer.probe.streams import stream
from glassformer.probe.summary import beam_data
from glassformer.probe.tensors import NoTensor, tensor
from tests.probe.subjects import NORMS, TEXT, options, subject, text_for
from tests.support.equality import assert_near
from tests.support.models import FAMILIES, POSITIONS
from tests.unit.decoding.texts import SMALL, tokenizer

EXACT = 1e-9


def plain(family: str = "encoder-decoder", **settings: object) -> Trace:
    return explain(subject(family, **settings), text_for(family), **options(family))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_deepest_lens_is_the_model_itself(family: str, norm: str) -> None:
    found = plain(family, norm=norm)
    stack = lens_stack(found)
    assert stack is not None
    last = len(depths(found, stack)) - 1

    assert_near(lens_logits(found, last), found.logits, EXACT)
    cells = lens_cells(found, last)
    for step in found.steps:
        chosen = cells[step.step].chosen
        assert chosen is not None and step.log_probability is not None
        assert chosen[0] == pytest.approx(math.exp(step.log_probability), abs=1e-9)
        assert chosen[1] == step.rank
    with pytest.raises(InputError, match="they run from 0 to 2"):
        lens_logits(found, 3)


def test_no_lens_without_an_output_over_words() -> None:
    found = plain("encoder-only", head="classifier")

    assert lens_stack(found) is None
    with pytest.raises(InputError, match="no output over the vocabulary"):
        lens_logits(found, 0)


@pytest.mark.parametrize(
    ("offset", "label"), [(0, "self"), (-1, "previous"), (1, "next")], ids=["self", "previous", "next"]
)
def test_a_head_is_called_after_where_its_weight_lies(offset: int, label: str) -> None:
    """A head is made to look at one place; its label and the figure behind it say so."""
    n_tokens = len(plain().source)
    rules = [
        {"type": "edge", "kind": "enc", "layer": 0, "head": 0, "query": i, "key": i + offset, "weight": 1.0}
        for i in range(n_tokens)
        if 0 <= i + offset < n_tokens
    ]
    found = plain().what_if(*rules)
    first = head_figures(found)[0]

    assert (first.kind, first.layer, first.head, first.label) == ("enc", 0, 0, label)
    assert first.statistic == "share" and first.value >= (n_tokens - 1) / n_tokens - 1e-9
    assert first.value == first.shares[label]


def test_uniform_heads_are_spread_and_have_the_largest_entropy() -> None:
    found = plain().what_if({"type": "uniform", "kind": "enc"})
    figures = head_figures(found)[0]
    n = len(found.source)

    assert figures.label == "spread"
    assert figures.entropy == pytest.approx(math.log(n)) and figures.entropy_share == pytest.approx(1.0)
    assert figures.confidence == pytest.approx(1 / n)
    expected = sum(abs(i - j) for i in range(n) for j in range(n)) / n / n
    assert figures.distance == pytest.approx(expected) and figures.offset == pytest.approx(0.0, abs=1e-9)


def test_shares_of_the_end_and_of_punctuation_are_sums_of_weights() -> None:
    found = plain()
    weights = found.cross[1].weights[1]
    figures = next(
        each for each in head_figures(found) if (each.kind, each.layer, each.head) == ("cross", 1, 1)
    )
    ends = [i for i, token in enumerate(found.source) if token.piece == "</s>"]
    stops = [i for i, token in enumerate(found.source) if token.text == "."]

    assert figures.shares["end"] == pytest.approx(float(weights[:, ends].sum(-1).mean()))
    assert figures.shares["punctuation"] == pytest.approx(float(weights[:, stops].sum(-1).mean()))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("positions", ["sinusoidal", "alibi", "relative", "rotary"])
def test_the_arithmetic_of_a_cell_leads_from_dot_product_to_state(norm: str, positions: str) -> None:
    found = plain(norm=norm, positions=positions)
    for kind, stack, sub in (
        ("enc", "enc", "attention"),
        ("dec", "dec", "attention"),
        ("cross", "dec", "cross"),
    ):
        told = cell(found, (kind, 1, 1), 2, 1)  # type: ignore[arg-type]
        layer = found.layers(kind)[1]  # type: ignore[arg-type]

        assert math.fsum(told["products"]) == pytest.approx(told["dot"], abs=1e-9)
        assert told["dot"] * told["scale"] + told["bias"] == pytest.approx(told["score"], abs=1e-9)
        assert told["score"] == pytest.approx(float(layer.scores[1, 2, 1]), abs=1e-9)
        assert told["exponential"] / told["row"]["denominator"] == pytest.approx(told["weight"], abs=1e-9)
        assert told["weight"] == pytest.approx(float(layer.weights[1, 2, 1]), abs=1e-9)
        assert told["contribution"] == pytest.approx([told["weight"] * v for v in told["v"]])
        assert told["context"] == pytest.approx(layer.context[1, 2].tolist())
        shares = torch.tensor(
            [cell(found, (kind, 1, head), 2, 1)["after"][0]["share"] for head in range(2)]  # type: ignore[arg-type]
        ).sum(0)
        module = getattr(found.model, "encoder" if stack == "enc" else "decoder").blocks[1]
        bias = (module.cross_attention if sub == "cross" else module.attention).output.bias
        assert_near(shares.double() + bias, torch.tensor(told["after"][0]["value"]).double(), 1e-6)
        ops = [step["op"] for step in told["before"] + told["after"]]
        assert (
            ops
            == {
                "post": ["input", "project", "add", "norm"],
                "pre": ["input", "norm", "project", "add"],
                "sandwich": ["input", "norm", "project", "norm", "add"],
            }[norm]
        )
        json.dumps(told, allow_nan=False)


def test_the_norm_in_a_cell_is_the_mean_and_deviation_of_what_it_was_given() -> None:
    told = cell(plain(), ("enc", 0, 0), 0, 0)
    summed, normed = told["after"][1], told["after"][2]
    values = torch.tensor(summed["value"]).double()

    assert normed["mean"] == pytest.approx(float(values.mean()), abs=1e-6)
    assert normed["deviation"] == pytest.approx(float(values.std(correction=0)), abs=1e-6)


def test_a_masked_cell_has_no_score_and_no_weight() -> None:
    told = cell(plain(), ("dec", 0, 0), 1, 3)

    assert told["allowed"] is False and told["score"] is None
    assert told["weight"] == 0.0 and told["row"]["scores"][3] is None
    with pytest.raises(InputError, match=r"no cell \(1, 99\)"):
        cell(plain(), ("dec", 0, 0), 1, 99)


def test_without_the_root_of_d_k_a_row_is_the_softmax_of_dot_products() -> None:
    found = plain()
    told = cell(found, ("enc", 0, 1), 3, 2)
    raw = found.enc[0].q[1, 3] @ found.enc[0].k[1].T

    assert told["saturation"]["weights"] == pytest.approx(raw.softmax(-1).tolist())


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_named_tensor_is_there(family: str, positions: str) -> None:
    found = plain(family, positions=positions)
    for kind in found.kinds:
        layer = found.layers(kind)[1]
        n_queries, n_keys = layer.mask.shape
        for what in ("weights", "raw", "scaled", "bias", "scores", "norms"):
            assert tensor(found, f"{kind}.1.0.{what}").shape == (n_queries, n_keys)
        assert torch.equal(tensor(found, f"{kind}.1.weights"), layer.weights)
        assert_near(tensor(found, f"{kind}.1.mean"), layer.weights.mean(0), EXACT)
        assert_near(
            tensor(found, f"{kind}.1.1.scaled") + tensor(found, f"{kind}.1.1.bias"),
            layer.q[1] @ layer.k[1].T / found.config.d_key**0.5 + layer.seen.bias[0, 1],
            EXACT,
        )
    added = positions in ("sinusoidal", "learned")
    for side in ("source", "target"):
        if side in {part.side for part in stacks(found.model).values()}:
            total = tensor(found, f"{side}.embedding")
            if added:
                total = total + tensor(found, f"{side}.position")
            else:
                with pytest.raises(NoTensor):
                    tensor(found, f"{side}.position")
            assert_near(tensor(found, f"{side}.input"), total, EXACT)


def test_norm_weighted_attention_is_the_length_of_what_a_key_sends() -> None:
    found = plain()
    assert isinstance(found.model, EncoderDecoder)
    layer, module = found.cross[1], found.model.decoder.blocks[1].cross_attention
    width = layer.v.size(-1)
    sent = torch.zeros(*layer.weights.shape[1:], 16).double()
    for head in range(2):
        moved = layer.v[head] @ module.output.weight[:, head * width : (head + 1) * width].T
        parts = layer.weights[head][..., None] * moved
        assert_near(tensor(found, f"cross.1.{head}.norms"), parts.norm(dim=-1), EXACT)
        sent = sent + parts

    assert_near(tensor(found, "cross.1.norms"), sent.norm(dim=-1), EXACT)


def test_rollout_multiplies_layers_and_stays_a_distribution() -> None:
    found = plain()
    one, both = tensor(found, "enc.0.rollout"), tensor(found, "enc.1.rollout")
    step = 0.5 * found.enc[1].weights.mean(0) + 0.5 * torch.eye(len(one))

    assert_near(both, step @ one, EXACT)
    assert_near(both.sum(-1), torch.ones(len(both)).double(), EXACT)
    with pytest.raises(NoTensor):
        tensor(found, "cross.0.rollout")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "cross",
        "cross.9.0.weights",
        "cross.0.9.weights",
        "enc.0.0.seen",
        "x.enc.0.cross.sum",
        "enc.-1.mean",
    ],
)
def test_no_other_name_is_a_tensor(name: str) -> None:
    with pytest.raises(NoTensor, match="there is no tensor"):
        tensor(plain(), name)


def test_a_stream_tells_lengths_directions_and_units() -> None:
    found = plain(norm="pre")
    told = stream(found, "dec")
    states = depths(found, "dec")

    assert told.norms[2] == pytest.approx(states[2].norm(dim=-1).tolist())
    assert told.cosines[0][0] is None
    assert told.cosines[1][0] == pytest.approx(
        float(torch.cosine_similarity(states[0][0], states[1][0], dim=0))
    )
    assert told.sublayers == ["attention", "cross", "feed_forward"]
    assert told.updates[1].norm == pytest.approx(found.state("dec", 0, "cross.output").norm(dim=-1).tolist())
    units = found.state("dec", 1, "units")
    assert told.units[1].active == pytest.approx(float((units > 0).double().mean()))
    assert told.units[1].top[0][0][1] == pytest.approx(float(units[0].max()))


@pytest.mark.parametrize("family", ["encoder-decoder", "decoder-only"])
@pytest.mark.parametrize("beam", [1, 3])
def test_a_beam_tree_holds_the_whole_search(family: str, beam: int) -> None:
    found = explain(subject(family), TEXT, beam=beam, nbest=beam, max_length=6)
    log = found.answer.beam
    assert isinstance(log, BeamLog) and not isinstance(found.subject, TextEncoder)
    end = found.subject.specials.end
    children = {node.parent for node in log.nodes}

    for node in log.nodes[1:]:
        assert node.parent is not None
        assert node.total == pytest.approx(log.nodes[node.parent].total + node.log_probability)
        assert log.nodes[node.parent].status in ("root", "kept")
        assert node.status != "finished" or node.token == end
    for node in log.nodes:
        assert node.status not in ("pruned", "finished") or node.id not in children
    for step in range(1, 6):
        assert sum(node.status == "kept" for node in log.nodes if node.step == step) <= beam
    for each in found.answer.hypotheses:
        place = log.node_of(each, end)
        assert place is not None
        assert log.path(place)[: len(each.ids)] == list(each.ids)
        assert log.nodes[place].total == pytest.approx(each.log_probability)
    told = beam_data(found)
    assert told is not None and told["chosen"] == log.node_of(found.answer.hypotheses[0], end)
    assert len(told["finished"]) == len(finished_nodes(log))
    json.dumps(told, allow_nan=False)


def test_finished_branches_have_the_scores_of_the_search() -> None:
    found = explain(
        subject("encoder-decoder", output_bias=True), TEXT, beam=4, nbest=4, max_length=12, alpha=0.8
    )
    told = beam_data(found)
    assert told is not None
    finished = {each["node"]: each["score"] for each in told["finished"]}
    log = found.answer.beam
    assert log is not None
    for each in found.answer.hypotheses:
        if each.finished:
            assert finished[log.node_of(each, 2)] == pytest.approx(each.score)


def test_nothing_is_searched_when_sampling_or_when_the_output_is_given() -> None:
    sampled = explain(subject("encoder-decoder"), TEXT, temperature=1.0, max_length=5)
    given = explain(subject("encoder-decoder"), TEXT, target="Le chat.")

    assert sampled.answer.beam is None and sampled.answer.decoded
    assert given.answer.beam is None and not given.answer.decoded
    assert beam_data(sampled) is None and given.incremental is None


@pytest.mark.parametrize("family", FAMILIES)
def test_the_difference_to_itself_is_nothing(family: str) -> None:
    told = plain(family).diff(plain(family)).to_dict()

    assert told["logp"]["difference"] == pytest.approx(0.0)
    assert all(each["op"] == "equal" for each in told["text"])
    assert all(each["max"] == 0.0 for each in told["heads"])
    assert told["same_target"]["total"] == pytest.approx(0.0)


def test_a_difference_tells_words_probabilities_and_heads() -> None:
    one = explain(subject("encoder-decoder"), TEXT, target="Le chat noir.")
    other = one.what_if(mute=[("cross", 0, 1)])
    told = one.diff(other)
    same = told.same_target

    assert same is not None
    assert same.total == pytest.approx(other.log_probability - one.log_probability)
    assert sum(same.before) == pytest.approx(one.log_probability)
    moved = {each[:3]: each[3] for each in told.heads}
    assert moved["enc", 0, 0] == 0.0 and moved["cross", 1, 0] > 0.0
    assert_near(told.weights("cross", 1), other.cross[1].weights - one.cross[1].weights, EXACT)
    assert "log-probability" in repr(told) and "<p>" in told._repr_html_()


@pytest.mark.parametrize("head", ["classifier", "embedding"])
def test_labels_and_vectors_are_compared_with_those_of_the_first(head: str) -> None:
    one = explain(subject("encoder-only", head=head), TEXT)
    other = one.what_if({"type": "uniform", "kind": "enc"})

    assert one.diff(one).log_probability == pytest.approx(0.0)
    assert one.diff(other).log_probability == pytest.approx(
        one.goal.reached(other.output) - one.log_probability
    )
    assert one.diff(other).log_probability != pytest.approx(0.0)


def test_traces_of_other_shape_or_family_are_compared_as_far_as_that_goes() -> None:
    one = plain()
    longer = explain(subject("encoder-decoder"), "A dog is sleeping near 42 houses.", max_length=7)
    other = explain(subject("decoder-only"), TEXT, max_length=7)

    assert one.diff(longer).comparable("enc") is False
    with pytest.raises(InputError, match="different shape"):
        one.diff(longer).weights("enc", 0)
    assert one.diff(other).same_target is None
    json.dumps(one.diff(other).to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("family", "head"),
    [
        ("encoder-decoder", None),
        ("decoder-only", None),
        *(("encoder-only", head) for head in ("masked-lm", "classifier", "embedding")),
    ],
)
def test_everything_that_takes_text_explains_itself(family: str, head: str | None) -> None:
    settings: dict[str, Any] = {} if head is None else {"head": head}
    asked = subject(family, **settings)
    found = asked.explain(text_for(family), **options(family))
    told = found.to_dict()

    assert isinstance(found, gf.Trace)
    assert json.loads(json.dumps(told, allow_nan=False))["family"] == family
    assert told["fidelity"]["ok"] is True
    assert (
        told["result"]["kind"]
        == {None: "text", "masked-lm": "fill", "classifier": "classify", "embedding": "embed"}[head]
    )
    assert text_for(family) in repr(found)


def test_results_are_those_of_the_model_itself() -> None:
    asked = subject("encoder-decoder")
    assert isinstance(asked, Translator)
    found = asked.explain(TEXT, beam=3, nbest=3, max_length=7)
    (told,) = asked.translate([TEXT], beam=3, nbest=3, max_length=7, alignment=True)

    assert found.text == told.text
    assert [each["text"] for each in found.to_dict()["result"]["hypotheses"]] == [
        told.text,
        *(a.text for a in told.alternatives),
    ]
    assert told.alignment is not None
    assert [link[:2] for link in found.alignment().links] == [link[:2] for link in told.alignment.links]


def test_guesses_are_those_of_fill() -> None:
    asked = subject("encoder-only")
    assert isinstance(asked, TextEncoder)
    ((guesses,),) = asked.fill([text_for("encoder-only")])
    (blank,) = asked.explain(text_for("encoder-only")).to_dict()["result"]["blanks"]

    assert [guess.id for guess in guesses] == [each["id"] for each in blank["guesses"][:5]]
    assert [guess.probability for guess in guesses] == pytest.approx(
        [each["p"] for each in blank["guesses"][:5]], abs=1e-6
    )


@pytest.mark.parametrize("text", ["", "   "])
def test_a_blank_text_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="blank"):
        subject("encoder-decoder").explain(text)
    with pytest.raises(InputError, match="blank"):
        subject("encoder-only").explain(text)


def test_a_blank_prompt_begins_a_text() -> None:
    found = subject("decoder-only").explain("", max_length=4)

    assert found.answer.n_given == 1 and len(found.steps) == 4


def test_another_hypothesis_can_be_looked_at() -> None:
    first = explain(subject("encoder-decoder"), TEXT, beam=3, nbest=3, max_length=6)
    second = look(first.subject, replace(first.question, hypothesis=1))

    assert second.answer.labels[: len(first.answer.hypotheses[1].ids)] == first.answer.hypotheses[1].ids
    with pytest.raises(InputError, match="hypothesis 7 does not exist"):
        look(first.subject, replace(first.question, hypothesis=7))


def test_options_that_mean_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="decodes nothing; leave beam out"):
        subject("encoder-only").explain(TEXT, beam=2)
    with pytest.raises(InputError, match="no output text"):
        subject("encoder-only").explain(TEXT, target="x")


def test_a_multilingual_model_is_asked_in_a_language() -> None:
    tokens = tokenizer("fr", "de")
    model = build_model(ModelConfig.model_validate({**SMALL, "vocab_size": tokens.size}))
    assert isinstance(model, EncoderDecoder)
    asked = Translator(model, tokens)
    found = asked.explain(TEXT, language="de", max_length=4)

    assert found.source[0].piece == ">>de<<" and found.source[0].special
    with pytest.raises(InputError, match="several target languages"):
        asked.explain(TEXT, max_length=4)
