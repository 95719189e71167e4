"""Settings from TOML: read whole, and complained about in one sentence."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from tacan.errors import UserError


def read_toml(path: Path, what: str, refuse: type[UserError] = UserError) -> dict[str, Any]:
    """The content of a TOML file; ``what`` names it in a complaint, which is a ``refuse``."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise refuse(f"{what} {path}: cannot be read: {error}") from None
    except ValueError as error:  # of the format, or a number of thousands of digits
        raise refuse(f"{what} {path}: not valid TOML: {error}") from None


def error_sentence(error: ValidationError, where: str, tags: Collection[str] = ()) -> str:
    """The first complaint as a sentence, and how many more there are.

    ``tags`` are names of tagged alternatives, which stand in pydantic's path but in no file.
    """
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"] if part not in tags) or "the file"
    more = f" ({error.error_count() - 1} more like this)" if error.error_count() > 1 else ""
    value, context = first["input"], first.get("ctx", {})
    shown = "" if isinstance(value, dict | BaseModel) else f" = {value!r}"
    match first["type"]:
        case "extra_forbidden":
            said = " is not a known key; remove it or correct its spelling"
        case "missing":
            said = " is missing"
        case "union_tag_not_found":
            said = ".kind is missing"
        case "union_tag_invalid":
            said = f".kind = {context['tag']!r}: must be one of {context['expected_tags']}"
        case "too_short":
            said = f" holds {len(value)} values: must hold at least {context['min_length']}"
        case "too_long":
            said = f" holds {len(value)} values: must hold at most {context['max_length']}"
        case "model_type" | "dict_type":
            said = f"{shown}: must be a table of keys"
        case "tuple_type":
            said = f"{shown}: must be a list"
        case _:
            message = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
            said = f"{shown}: {message[0].lower()}{message[1:]}"
    return f"{where}: {key}{said}{more}"
