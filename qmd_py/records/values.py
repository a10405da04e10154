"""What all frozen values have in common."""

from dataclasses import fields


class Value:
    """Compared, hashed and shown by its fields, as a dataclass is that is given its own methods.

    Python compiles those of a dataclass anew in each process, a third of what the class costs; so
    whatever a search imports says `eq=False, repr=False` and has them from here.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return _compared(self) == _compared(other)

    def __hash__(self) -> int:
        return hash(_compared(self))

    def __repr__(self) -> str:
        shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__qualname__}({', '.join(shown)})"


def _compared(value: object) -> tuple[object, ...]:
    return tuple(getattr(value, one.name) for one in fields(value) if one.compare)  # type: ignore[arg-type]
