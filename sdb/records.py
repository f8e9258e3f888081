"""Classes of plain data that are made quickly.

What :mod:`dataclasses` writes anew for each class is shared here, and the constructor is written
when the first record is made, or the second one if the first has defaults alone. A query knows a
hundred classes and uses a few: writing all of their methods would be a fifth of the time of a short
one. Commands have a record of defaults for options that few of them are called with.
"""

from __future__ import annotations

from sdb.typed import dataclass_transform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    _Class = TypeVar("_Class")

_NOTHING: Any = object()
_FIELDS = "__record_fields__"
_COMPARED = "__compared__"
_TAKEN = "__taken__"


class Field:
    """The options of a field; see :func:`field`."""

    __slots__ = ("compare", "default", "factory", "init", "kw_only", "repr")

    def __init__(
        self,
        default: object = _NOTHING,
        factory: object = _NOTHING,
        options: tuple[bool, bool, bool, bool] = (True, True, True, False),
    ) -> None:
        self.default, self.factory = default, factory
        self.init, self.repr, self.compare, self.kw_only = options


def field(
    *,
    default: Any = _NOTHING,  # noqa: ANN401 - of any type
    default_factory: Callable[[], Any] = _NOTHING,
    init: bool = True,
    repr: bool = True,  # noqa: A002
    compare: bool = True,
    kw_only: bool = False,
) -> Any:  # noqa: ANN401 - stands for the value of the field
    """Say more of a field than its default; as :func:`dataclasses.field`."""
    return Field(default, default_factory, (init, repr, compare, kw_only))


@dataclass_transform(frozen_default=True, field_specifiers=(field, Field))
def record(cls: type[_Class]) -> type[_Class]:
    """Make a class of records: with slots, a constructor, a text form, and equal by value.

    Their fields never change, and they have a hash. The functions of :mod:`dataclasses` take
    records too.

    * ``cls``: A class with annotated fields, as for a dataclass.

    >>> @record
    ... class Place:
    ...     line: int
    ...     column: int = 1
    >>> Place(2), Place(2) == Place(2, 1)
    (Place(line=2, column=1), True)
    """
    return _made(cls, _FROZEN)


@dataclass_transform(field_specifiers=(field, Field))
def changing_record(cls: type[_Class]) -> type[_Class]:
    """Make a class of records whose fields may change, and that have no hash; see :func:`record`.

    * ``cls``: A class with annotated fields, as for a dataclass.
    """
    return _made(cls, _CHANGING)


def replace(record: _Class, /, **changes: object) -> _Class:
    """Return a record with other values in some fields.

    >>> @record
    ... class Place:
    ...     line: int
    ...     column: int = 1
    >>> replace(Place(2, 3), line=4)
    Place(line=4, column=3)
    """
    kind = type(record)
    values = {name: getattr(record, name) for name in field_names(kind)}
    return kind(**(values | changes))


def field_names(cls: type) -> tuple[str, ...]:
    """Return the names of the fields that the constructor of a class of records takes."""
    names: tuple[str, ...] = getattr(cls, _TAKEN)
    return names


def _made(cls: type[_Class], methods: Mapping[str, object]) -> type[_Class]:
    own = [name for name, kind in cls.__annotations__.items() if not kind.startswith("ClassVar")]
    fields: dict[str, Field] = {}
    for base in cls.__mro__[:0:-1]:
        fields |= base.__dict__.get(_FIELDS, {})
    space = dict(cls.__dict__)
    for name in own:
        value = space.pop(name, _NOTHING)
        fields[name] = value if isinstance(value, Field) else Field(value)
    for name in ("__dict__", "__weakref__"):
        space.pop(name, None)
    for name, shared in methods.items():
        if space.get(name) is None:
            space[name] = shared
    ordered = [name for name, field in fields.items() if field.init and not field.kw_only]
    compared = [name for name, field in fields.items() if field.compare]
    space |= {"__slots__": tuple(own), "__match_args__": tuple(ordered)}
    taken = [name for name, field in fields.items() if field.init]
    space |= {_FIELDS: fields, _COMPARED: tuple(compared), _TAKEN: tuple(taken)}
    kind: Any = type(cls)
    made: Any = kind(cls.__name__, cls.__bases__, space)
    made.__qualname__ = cls.__qualname__
    if "__init__" not in space:
        made.__init__ = _written_when_called(made)
    return made  # type: ignore[no-any-return]


def _written_when_called(cls: Any) -> Callable[..., None]:  # noqa: ANN401 - any class
    is_first = True

    def __init__(self: object, /, *args: object, **kwargs: object) -> None:  # noqa: N807
        nonlocal is_first
        if is_first and not args and not kwargs and _has_defaults(cls):
            is_first = False
            _set_defaults(cls, self)
            return
        cls.__init__ = _constructor(cls)
        cls.__init__(self, *args, **kwargs)

    return __init__


def _has_defaults(cls: type) -> bool:
    """Return whether each field that the constructor takes has a default."""
    fields = getattr(cls, _FIELDS)
    taken = [fields[name] for name in field_names(cls)]
    return not any(field.default is field.factory is _NOTHING for field in taken)


def _set_defaults(cls: type, record: Any) -> None:  # noqa: ANN401 - any record
    """Do what the constructor of a class does without arguments."""
    for name, field in getattr(cls, _FIELDS).items():
        if field.factory is not _NOTHING:
            getattr(cls, name).__set__(record, field.factory())
        elif field.init:
            getattr(cls, name).__set__(record, field.default)
    if hasattr(cls, "__post_init__"):
        record.__post_init__()


def _constructor(cls: type) -> Callable[..., None]:
    """Write the constructor of a class from its fields."""
    known: dict[str, object] = {"nothing": _NOTHING}
    plain: list[str] = []
    named: list[str] = []
    body: list[str] = []
    for name, field in getattr(cls, _FIELDS).items():
        known[f"set_{name}"] = getattr(cls, name).__set__
        value = name
        if field.factory is not _NOTHING:
            known[f"make_{name}"] = field.factory
            fresh = f"make_{name}()"
            value = f"{fresh} if {name} is nothing else {name}" if field.init else fresh
        if not field.init and field.factory is _NOTHING:
            continue
        body.append(f"set_{name}(self, {value})")
        if field.init:
            known[f"default_{name}"] = field.default
            optional = not (field.default is _NOTHING and field.factory is _NOTHING)
            taken = f"{name}=default_{name}" if optional else name
            (named if field.kw_only else plain).append(taken)
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    takes = ", ".join(["self", *plain, *(["*", *named] if named else [])])
    text = f"def __init__({takes}):\n    " + "\n    ".join(body or ["pass"])
    exec(text, known)  # noqa: S102 - of names of fields alone
    made: Any = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made  # type: ignore[no-any-return]


def _compared(record: Any) -> tuple[object, ...]:  # noqa: ANN401 - any record
    return tuple([getattr(record, name) for name in record.__compared__])


def _is_equal(self: object, other: object) -> Any:  # noqa: ANN401 - or NotImplemented
    if type(self) is not type(other):
        return NotImplemented
    return _compared(self) == _compared(other)


def _hash(self: object) -> int:
    return hash(_compared(self))


def _shown(self: object) -> str:
    fields = getattr(type(self), _FIELDS).items()
    members = [f"{name}={getattr(self, name)!r}" for name, field in fields if field.repr]
    return f"{type(self).__qualname__}({', '.join(members)})"


def _refuse(self: object, name: str, *_: object) -> None:
    message = f"{name!r} of {type(self).__name__} never changes"
    raise AttributeError(message)


def _state(self: object) -> list[object]:
    return [getattr(self, name) for name in getattr(type(self), _FIELDS)]


def _restore(self: object, state: list[object]) -> None:
    for name, value in zip(getattr(type(self), _FIELDS), state, strict=True):
        getattr(type(self), name).__set__(self, value)


class _Signature:
    """The parameters of the constructor, for help and completion."""

    def __get__(self, record: object, cls: type) -> object:
        import inspect

        signature = inspect.signature(_constructor(cls))
        return signature.replace(parameters=list(signature.parameters.values())[1:])


class _DataclassFields:
    """The fields as the functions of :mod:`dataclasses` want them."""

    def __get__(self, record: object, cls: type) -> object:
        import dataclasses

        fields = []
        for name, member in getattr(cls, _FIELDS).items():
            options: dict[str, Any] = {"init": member.init, "compare": member.compare}
            options |= {"repr": member.repr, "kw_only": member.kw_only}
            if member.default is not _NOTHING:
                options["default"] = member.default
            if member.factory is not _NOTHING:
                options["default_factory"] = member.factory
            fields.append((name, "Any", dataclasses.field(**options)))
        made: Any = dataclasses.make_dataclass(cls.__name__, fields)
        return made.__dataclass_fields__


_CHANGING = {
    "__eq__": _is_equal,
    "__hash__": None,
    "__repr__": _shown,
    "__signature__": _Signature(),
    "__dataclass_fields__": _DataclassFields(),
}
_FROZEN = _CHANGING | {
    "__hash__": _hash,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__getstate__": _state,
    "__setstate__": _restore,
}
