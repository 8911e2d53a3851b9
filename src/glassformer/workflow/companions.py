"""What stands beside a model in its directory: how it is best asked, its shortlist, what it is used to."""

from functools import cached_property

import numpy as np

from glassformer.checkpoint import resolve_model_directory
from glassformer.checkpoint.model_files import read_extra
from glassformer.decoding.alignment import Pairs
from glassformer.decoding.attending import choose_layer
from glassformer.decoding.defaults import FILE as DEFAULTS
from glassformer.decoding.defaults import AlignmentLayer, Defaults
from glassformer.decoding.familiarity import FILE as FAMILIAR
from glassformer.decoding.familiarity import Familiarity
from glassformer.decoding.shortlist import FILE as SHORTLIST
from glassformer.decoding.shortlist import LIMIT
from glassformer.decoding.targets import Target
from glassformer.decoding.wording import specials_of
from glassformer.errors import CheckpointError
from glassformer.nn import DecoderOnly, EncoderOnly, Transformer
from glassformer.training import RunDirectory
from glassformer.workflow.lexicon import learn_lexicon
from glassformer.workflow.preparation import Prepared, target_language

READ = 200
"""Pairs on which the layer of alignments is chosen."""


class Companions:
    """The further files of the directories of models that learn from one text.

    What depends on the text alone is made once, when it is first asked for.
    """

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared

    def beside(self, model: Transformer) -> dict[str, bytes]:
        """The files for a model, by name."""
        prepared, config = self._prepared, self._prepared.config
        if isinstance(model, EncoderOnly):
            return {}  # there is nothing to decode
        if isinstance(model, DecoderOnly):
            return {DEFAULTS: Defaults(decode=config.decode, context=config.train.context_length).to_bytes()}
        shortlist, familiar, targets, gold = self._learned
        specials = specials_of(prepared.tokenizer, config.model.vocab_size)
        reading = choose_layer(model, targets, specials, gold)
        defaults = Defaults(
            decode=config.decode,
            reading=AlignmentLayer(layer=reading.layer, fed=reading.fed),
            language=target_language(config) if prepared.tokenizer.languages else None,
        )
        return {DEFAULTS: defaults.to_bytes(), SHORTLIST: shortlist, FAMILIAR: familiar}

    @cached_property
    def _learned(self) -> tuple[bytes, bytes, list[Target], list[Pairs]]:
        """The shortlist, what sources are like, and pairs with links that no model had a part in."""
        prepared = self._prepared
        sources = prepared.train.sides[0]
        familiar = Familiarity.learn(prepared.tokenizer, sources.ids, sources.offsets)
        lexicon = learn_lexicon(prepared.train)
        occurrences = np.bincount(prepared.train.sides[1].ids)
        tokenizer, forced = prepared.tokenizer, prepared.tokenizer.target_before
        n_source_ids = prepared.config.model.n_source_ids
        shortlist = lexicon.shortlist(n_source_ids, occurrences, joint=tokenizer.joint)
        store = prepared.valid or prepared.train
        targets, gold = [], []
        for row in range(min(READ, len(store))):
            source, target = store.source(row), store.target(row)
            tag = () if store.tags is None else (int(store.tags[row]),)
            before = (*tag, *tokenizer.source_before)
            framed = (*before, *source.tolist(), *tokenizer.source_after)
            targets.append(Target(framed, (*forced, *target.tolist()), n_forced=len(forced)))
            links = lexicon.links(source, target)
            gold.append(frozenset((s + len(before), t + len(forced)) for s, t in links))
        return shortlist.to_bytes(), familiar.to_bytes(), targets, gold


def kept_companions(run: RunDirectory) -> dict[str, bytes]:
    """The further files of the model directory that a run has now."""
    try:
        directory = resolve_model_directory(run.path)
    except CheckpointError:
        return {}
    found = {name: read_extra(directory, name, LIMIT) for name in (DEFAULTS, SHORTLIST, FAMILIAR)}
    return {name: content for name, content in found.items() if content is not None}
