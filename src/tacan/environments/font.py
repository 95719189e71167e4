"""A font of 5 x 7 dots, so that a picture needs no drawing library."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

GLYPH_HEIGHT, GLYPH_WIDTH, SPACING = 7, 5, 1

# one byte a column, left to right; bit 0 is the top dot
_COLUMNS = {
    " ": "0000000000", "-": "0808080808", ".": "0060600000", "/": "2010080402",
    "_": "4040404040", ":": "0036360000", ",": "0050300000", "%": "2313086462",
    "(": "001C224100", ")": "0041221C00", "+": "08083E0808", "=": "1414141414",
    "0": "3E5149453E", "1": "00427F4000", "2": "4261514946", "3": "2141454B31",
    "4": "1814127F10", "5": "2745454539", "6": "3C4A494930", "7": "0171090503",
    "8": "3649494936", "9": "064949291E",
    "A": "7E1111117E", "B": "7F49494936", "C": "3E41414122", "D": "7F4141221C",
    "E": "7F49494941", "F": "7F09090901", "G": "3E4149497A", "H": "7F0808087F",
    "I": "00417F4100", "J": "2040413F01", "K": "7F08142241", "L": "7F40404040",
    "M": "7F020C027F", "N": "7F0408107F", "O": "3E4141413E", "P": "7F09090906",
    "Q": "3E4151215E", "R": "7F09192946", "S": "4649494931", "T": "01017F0101",
    "U": "3F4040403F", "V": "1F2040201F", "W": "3F4038403F", "X": "6314081463",
    "Y": "0708700807", "Z": "6151494543",
    "a": "2054545478", "b": "7F48444438", "c": "3844444420", "d": "384444487F",
    "e": "3854545418", "f": "087E090102", "g": "0C5252523E", "h": "7F08040478",
    "i": "00447D4000", "j": "2040443D00", "k": "7F10284400", "l": "00417F4000",
    "m": "7C04180478", "n": "7C08040478", "o": "3844444438", "p": "7C14141408",
    "q": "081414187C", "r": "7C08040408", "s": "4854545420", "t": "043F444020",
    "u": "3C4040207C", "v": "1C2040201C", "w": "3C4030403C", "x": "4428102844",
    "y": "0C5050503C", "z": "4464544C44",
}  # fmt: skip
UNKNOWN = "7F4141417F"


def _glyph(character: str) -> npt.NDArray[np.bool_]:
    columns = np.frombuffer(bytes.fromhex(_COLUMNS.get(character, UNKNOWN)), dtype=np.uint8)
    return ((columns[None, :] >> np.arange(GLYPH_HEIGHT)[:, None]) & 1).astype(np.bool_)


_GLYPHS = {character: _glyph(character) for character in [*_COLUMNS, "\N{REPLACEMENT CHARACTER}"]}


def text_width(text: str, scale: int = 1) -> int:
    """The dots that a text takes from left to right."""
    return max(len(text) * (GLYPH_WIDTH + SPACING) - SPACING, 0) * scale


def text_mask(text: str, scale: int = 1) -> npt.NDArray[np.bool_]:
    """A text as dots [7 scale, width]: True where there is ink."""
    mask = np.zeros((GLYPH_HEIGHT, text_width(text)), dtype=np.bool_)
    for place, character in enumerate(text):
        left = place * (GLYPH_WIDTH + SPACING)
        glyph = _GLYPHS.get(character, _GLYPHS["\N{REPLACEMENT CHARACTER}"])
        mask[:, left : left + GLYPH_WIDTH] = glyph
    return mask.repeat(scale, axis=0).repeat(scale, axis=1)
