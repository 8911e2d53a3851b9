"""Which target language a pair asks for, and the tag that stands before its source."""

from glassformer.errors import DataError, suggest
from glassformer.text.tokenizer import Tokenizer

_SHOWN = 40  # characters of a wrong language that a message shows: a column may hold anything


class Tagger:
    """The language tags of a tokenizer, for the pairs of a corpus."""

    def __init__(self, tokenizer: Tokenizer, default: str | None = None) -> None:
        """``default`` is for pairs that name no language; the only one there is need not be named at all."""
        self.ids = {language: tokenizer.language_id(language) for language in tokenizer.languages}
        self.default = next(iter(self.ids)) if len(self.ids) == 1 else default

    def tag(self, language: str | None, where: str) -> int | None:
        """The id that asks for the target language of a pair; None for a tokenizer without tags."""
        wanted = self.language(language, where)
        return None if wanted is None else self.ids[wanted]

    def language(self, language: str | None, where: str) -> str | None:
        """The target language of a pair, its own or the default; None for a tokenizer without tags."""
        known = ", ".join(self.ids)
        if language is not None:
            return self._checked(language, where, known)
        if self.ids and self.default is None:
            raise DataError(
                f"{where} names no target language; name one of {known}: in the third column of a .tsv file, "
                "as lang in a .jsonl file, or for all such pairs as the second of [data] langs"
            )
        return self.default if self.ids else None

    def _checked(self, language: str, where: str, known: str) -> str:
        told = f"{where} has the target language {language[:_SHOWN]!r}"
        if not self.ids:
            raise DataError(
                f"{told}, but this run has no languages; name them in [tokenizer] languages, or leave it out"
            )
        if language not in self.ids:
            raise DataError(f"{told}{suggest(language, self.ids)}; [tokenizer] languages has {known}")
        return language
