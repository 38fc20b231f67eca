"""What somebody has written: JSON, and data strictly as a record of msgspec."""

import functools
import sys
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
import yaml
from msgspec import Meta

T = TypeVar("T")
#: Kinds of values that records share.
Filled = Annotated[str, Meta(min_length=1, description="filled in")]
Measured = Annotated[float, Meta(gt=0, le=sys.float_info.max, description="a number above 0")]
Text = Annotated[str, Meta(min_length=1, description="a text")]
Whole = Annotated[int, Meta(ge=1, description="a whole number from 1 on")]


#: What PyYAML raises for a text that is none: for a scalar that is not of its tag, too.
NO_YAML = (
    *(yaml.YAMLError, ValueError, KeyError, IndexError, AttributeError, TypeError),
    RecursionError,
)


def from_json(text: str | bytes, kind: Any = Any) -> Any:
    """Return JSON as plain data, or as a kind of msgspec's.

    Raises ValueError for what is none, not of this kind, or nested too deeply.
    """
    try:
        return msgspec.json.decode(text, type=kind)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read(kind: type[T], given: object, what: str, *, strict: bool = True, own: str = "") -> T:
    """Read a mapping as a record (Struct) of a kind; unless `strict` numbers may be text.

    Keys that begin with `own`, if that is not empty, are left out. Raises ValueError where it is no
    mapping, for the first key that the record does not have, and the first value that cannot be:
    which it is, and what would be possible. `what` names it there.
    """
    if not isinstance(given, Mapping):
        raise ValueError(f"{what}: {given!r} is no dictionary")
    types = _types(kind)  # type: ignore[arg-type]
    others = f", and whatever begins with {own}" if own else ""
    read = {}
    for key, value in given.items():
        if own and isinstance(key, str) and key.startswith(own):
            continue
        if key not in types:
            raise ValueError(f"unknown key {key!r} in {what}; known: {', '.join(types)}{others}")
        try:
            read[key] = msgspec.convert(value, types[key], strict=strict)
        except msgspec.ValidationError as err:
            wrong = _possible(key, value, _alone(types[key]), err)
            raise ValueError(wrong) from None
    return msgspec.convert(read, kind)


@functools.cache
def _types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _alone(kind: Any) -> Any:
    """Return a type without the None that it may be, too."""
    kinds = [each for each in get_args(kind) if each is not NoneType]
    return kinds[0] if get_origin(kind) in (Union, UnionType) and len(kinds) == 1 else kind


def _possible(key: str, value: object, kind: Any, otherwise: object) -> str:
    """Say that a value cannot be: its words, or what its annotation says, or msgspec's reason."""
    if get_origin(kind) is Literal:
        return f"unknown {key}: {value!r}; known: {', '.join(filter(None, get_args(kind)))}"
    metadata = [each for each in getattr(kind, "__metadata__", ()) if isinstance(each, Meta)]
    said = next((f"it has to be {each.description}" for each in metadata if each.description), "")
    return f"{key} is {value!r}; {said or otherwise}"
