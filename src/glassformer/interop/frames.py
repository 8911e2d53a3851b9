"""Which ids stand around a text: the frame that each foreign architecture was trained to see."""

from collections.abc import Callable

from glassformer.interop.specials import ForeignSpecials, place_of
from glassformer.text.imported import Frame, ImportedVocabulary

Around = tuple[int, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""Start, end, what stands before a text, what behind it, and what an output begins with."""


def frame_of(vocabulary: ImportedVocabulary, specials: ForeignSpecials, kind: str) -> Frame:
    """Which ids stand around a text, as the architecture was trained."""

    def place(role: str, *defaults: str) -> int | None:
        names = (specials.name(role, ""), *defaults)
        return next((vocabulary.pieces.index(name) for name in names if name in vocabulary.pieces), None)

    unknown, pad, mask = (
        place("unk_token", "<unk>", "[UNK]"),
        place("pad_token", "<pad>", "[PAD]"),
        place("mask_token", "<mask>", "[MASK]"),
    )
    match kind:
        case "bert" | "distilbert":
            start, end = _there(place("cls_token", "[CLS]")), _there(place("sep_token", "[SEP]"))
            frame: Around = (start, end, (start,), (end,), ())
        case "gpt2" | "llama" | "mistral":
            end = _there(_or(place("eos_token", "</s>", "<|endoftext|>"), specials.id("eos_token_id")))
            start = _or(specials.id("bos_token_id"), place("bos_token", "<s>"), end) or 0
            frame = (start, end, (start,), (), ())
        case _:
            frame = _sequence_frame(vocabulary, specials, kind, place)
    start, end, before, after, forced = frame
    missing = end if unknown is None else unknown
    return Frame(
        end if pad is None else pad,
        start,
        end,
        missing,
        missing if mask is None else mask,
        before,
        after,
        forced,
    )


def _sequence_frame(
    vocabulary: ImportedVocabulary,
    specials: ForeignSpecials,
    kind: str,
    place: Callable[..., int | None],
) -> Around:
    """Of encoder-decoders. What BART says begins with <s>, whether or not its settings force it to."""
    end = _there(place("eos_token", "</s>"))
    forced = specials.id("forced_bos_token_id")
    given = specials.id("decoder_start_token_id")
    if kind == "mbart":
        return _mbart_frame(vocabulary, specials, end)
    if kind == "bart":
        begin = _there(place("bos_token", "<s>"))
        return _there(_or(given, end)), end, (begin,), (end,), (begin if forced is None else forced,)
    start = _there(_or(given, place("pad_token", "<pad>")))
    return start, end, (), (end,), () if forced is None else (forced,)


def _mbart_frame(vocabulary: ImportedVocabulary, specials: ForeignSpecials, end: int) -> Around:
    """The languages stand behind a source and start the decoder, or, in mBART-50, before both texts."""

    def language(role: str) -> int | None:
        name = specials.tokenizer.table.get(role)
        return place_of(vocabulary.pieces, name) if isinstance(name, str) else None

    source = place_of(vocabulary.pieces, specials.name("src_lang", "en_XX"))
    wanted, forced = language("tgt_lang"), specials.id("forced_bos_token_id")
    start = _or(specials.id("decoder_start_token_id"), wanted)
    first = _or(forced, wanted) if start == end else forced
    if start is None or (start == end and first is None):
        raise ValueError("tokenizer_config.json names no tgt_lang; say there what to translate into")
    begins = () if first is None else (first,)
    if str(specials.tokenizer.table.get("tokenizer_class")).startswith("MBart50"):
        return start, end, (source,), (end,), begins
    return start, end, (), (end, source), begins


def _or(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _there(value: int | None) -> int:
    if value is None:
        raise ValueError("a special token that frames texts is not in the vocabulary")
    return value
