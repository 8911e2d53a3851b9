"""What an import read: how many tensors have which role."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Census:
    """The tensors of a foreign directory by the role they have; every one of them has exactly one."""

    stored: int
    """In the files."""
    used: int
    """Make up parameters of ours."""
    tied: int
    """Are there twice: each equals the one that is used."""
    computed: int
    """Follow from a formula, and were found to."""
    aside: int
    """Have no use here."""

    def to_dict(self) -> dict[str, int]:
        """Plain data."""
        return asdict(self)

    def __str__(self) -> str:
        names = {
            "used": self.used,
            "equal to their twin": self.tied,
            "equal to their formula": self.computed,
            "left aside": self.aside,
        }
        found = ", ".join(f"{count} {name}" for name, count in names.items() if count)
        return f"{self.stored} stored: {found}"
