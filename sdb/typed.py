"""The names of :mod:`typing` that are needed while modules are loaded.

Loading `typing` takes as long as loading half of `sdb`. What annotations need is imported for type
checkers alone; the names here are those of `typing` for them, and next to nothing when the program
runs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Annotated, Any, Generic, Protocol, TypeVar, dataclass_transform
else:
    Protocol = object

    class Generic:
        """A class that is generic to type checkers alone."""

        def __class_getitem__(cls, _: object) -> type:
            """Return the class itself."""
            return cls

    def TypeVar(name: str) -> str:  # noqa: N802 - as in `typing`
        """Return what stands for a type variable."""
        return name

    class Annotated:
        """A type and what is said of it, kept as :data:`typing.Annotated` keeps them."""

        def __init__(self, origin: object, *metadata: object) -> None:
            self.__origin__, self.__metadata__ = origin, metadata

        def __class_getitem__(cls, items: tuple[object, ...]) -> Annotated:
            """Make one from what stands in the brackets."""
            return cls(*items)

    def dataclass_transform(**_: object) -> Any:  # noqa: ANN401 - a decorator of functions
        """Leave a maker of classes as it is."""
        return lambda maker: maker


__all__ = ["Annotated", "Generic", "Protocol", "TypeVar", "dataclass_transform"]
