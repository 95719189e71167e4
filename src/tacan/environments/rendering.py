"""A picture of the last slots, drawn with numpy alone.

A waterfall: a column for every channel, a row for every slot, the newest at the bottom. A cell's
colour is the class of the primary user on air; a box in it is the secondary user that was there,
filled by what came of it. The colours are Okabe and Ito's, which colour-blind readers can tell
apart, and outcomes differ in lightness as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tacan.environments.font import GLYPH_HEIGHT, text_mask, text_width
from tacan.scenario import EMPTY
from tacan.simulator.simulator import Simulator

Image = npt.NDArray[np.uint8]
Colour = tuple[int, int, int]
Outcome = tuple[Colour, Colour, Colour, str]

PAPER: Colour = (255, 255, 255)
INK: Colour = (40, 44, 52)
FAINT: Colour = (120, 126, 134)
BEFORE: Colour = (255, 255, 255)
IDLE: Colour = (233, 236, 239)
PRIMARY: tuple[Colour, ...] = ((230, 159, 0), (86, 180, 233), (0, 114, 178))
NAMES = ("URLLC", "mMTC", "eMBB")
"""of the classes, as the field spells them"""
ON_AIR = np.array([IDLE, *PRIMARY], dtype=np.uint8)
GREEN: Colour = (0, 120, 88)
PINK: Colour = (204, 121, 167)
BLACK: Colour = (0, 0, 0)

DELIVERED: Outcome = (GREEN, GREEN, PAPER, "delivered a packet")
STANDBY: Outcome = (PAPER, GREEN, GREEN, "free, no packet")
HIT_PRIMARY: Outcome = (BLACK, BLACK, PAPER, "hit a primary user")
HIT_SECONDARY: Outcome = (PINK, PINK, BLACK, "hit one another")
"""Fill, border and ink of a secondary user's box, and what it means."""

VISIBLE_SLOTS = 36
CELL_HEIGHT = 14
LEFT, TOP, BOTTOM, PANEL, GAP = 64, 60, 44, 276, 20
TEXT = 2
LINE = 22
LABELS_EVERY = 5
LISTED_USERS = 8


def cell_width(channels: int) -> int:
    """Wide enough for a user's number up to 150 channels, and always visible."""
    return int(np.clip(max(560 // channels, min(8, 1200 // channels)), 2, 72))


def write(
    image: Image, text: str, left: int, top: int, colour: Colour = INK, scale: int = TEXT
) -> None:
    """Put a text into an image; what would lie outside is cut off."""
    mask = text_mask(text, scale)
    target = image[top : top + mask.shape[0], left : left + mask.shape[1]]
    target[mask[: target.shape[0], : target.shape[1]]] = colour


def box(
    image: Image, left: int, top: int, width: int, height: int, fill: Colour, border: Colour
) -> None:
    """A filled rectangle with a border of one dot."""
    image[top : top + height, left : left + width] = border
    image[top + 1 : top + height - 1, left + 1 : left + width - 1] = fill


def outcome(facts: npt.NDArray[np.void]) -> Outcome:
    """What came of the users [n] on one channel: a primary user's presence weighs most."""
    if facts["primary_collision"].any():
        return HIT_PRIMARY
    if facts["secondary_collision"].any():
        return HIT_SECONDARY
    return DELIVERED if facts["delivered"].any() else STANDBY


def _draw_users(cells: Image, facts: npt.NDArray[np.void], width: int) -> None:
    """The boxes of one slot into its strip of cells [CELL_HEIGHT, K * width, 3]."""
    for channel in np.unique(facts["channel"]):
        users = np.flatnonzero(facts["channel"] == channel)
        fill, border, ink, _ = outcome(facts[users])
        left = int(channel) * width
        number = "".join(str(user) for user in users)
        room = width - 1 - text_width(number)
        # the class on air stays visible on both sides of the box, where there is room for it
        inset = min(max(room - 4, 0) // 2, 5)
        box(cells, left + inset, 1, width - 1 - 2 * inset, CELL_HEIGHT - 3, fill, border)
        if room >= 2:
            top = (CELL_HEIGHT - 1 - GLYPH_HEIGHT) // 2
            write(cells, number, left + (room + 1) // 2, top, ink, scale=1)


def waterfall(
    on_air: npt.NDArray[np.uint8], facts: Sequence[npt.NDArray[np.void]]
) -> tuple[Image, int]:
    """The cells of the last slots, from emitter codes [S, K] and S records of users [U].

    Returns the image of VISIBLE_SLOTS rows, and the width of a cell. Slots before the episode stay
    white, so that the newest slot is always at the bottom.
    """
    slots, channels = on_air.shape
    width = cell_width(channels)
    image = np.empty((VISIBLE_SLOTS * CELL_HEIGHT, channels * width, 3), dtype=np.uint8)
    image[:] = BEFORE
    first = (VISIBLE_SLOTS - slots) * CELL_HEIGHT
    colours = ON_AIR[on_air].repeat(CELL_HEIGHT, axis=0).repeat(width, axis=1)
    colours[CELL_HEIGHT - 1 :: CELL_HEIGHT] = PAPER
    if width > TEXT + 1:
        colours[:, width - 1 :: width] = PAPER
    image[first:] = colours
    for s, record in enumerate(facts):
        top = first + s * CELL_HEIGHT
        _draw_users(image[top : top + CELL_HEIGHT], record, width)
    return image, width


def _draw_axes(image: Image, slot: int, shown: int, channels: int, width: int) -> None:
    bottom = TOP + VISIBLE_SLOTS * CELL_HEIGHT
    for s in range(slot - shown, slot):
        if s % LABELS_EVERY == 0:
            top = bottom - (slot - s) * CELL_HEIGHT
            write(image, f"{s:>3}", LEFT - 8 - text_width("000", TEXT), top, FAINT)
    every = LABELS_EVERY * max(1, round(40 / (LABELS_EVERY * width)))
    for k in range(0, channels, every):
        middle = LEFT + k * width + width // 2
        write(image, str(k), middle - text_width(str(k), TEXT) // 2, bottom + 6, FAINT)
    write(image, "channel", LEFT, bottom + 26, FAINT)
    write(image, "slot", 8, bottom + 6, FAINT)


def _draw_panel(image: Image, left: int, simulator: Simulator, row: int) -> None:
    def heading(text: str, top: int) -> None:
        write(image, text, left, top, FAINT)

    top = TOP
    heading("primary users", top)
    for colour, name in zip(PRIMARY, NAMES, strict=True):
        top += LINE
        box(image, left, top, 22, CELL_HEIGHT, colour, colour)
        write(image, name, left + 32, top)
    top += 2 * LINE
    heading("secondary users", top)
    for fill, border, ink, meaning in (DELIVERED, STANDBY, HIT_PRIMARY, HIT_SECONDARY):
        top += LINE
        box(image, left, top, 22, CELL_HEIGHT, fill, border)
        write(image, "0", left + 9, top + 3, ink, scale=1)
        write(image, meaning, left + 32, top)
    top += 2 * LINE
    heading("waiting: first, rest", top)
    queues = simulator.queues
    for user in range(min(simulator.scenario.users, LISTED_USERS)):
        top += LINE
        code, length = queues.head_class[row, user], queues.length[row, user]
        delay = queues.head_delay[row, user]
        first = "empty" if code == EMPTY else f"{NAMES[code]} since {delay}"
        rest = f" +{length - 1}" if length > 1 else ""
        write(image, f"{user} {first}{rest}", left, top)


def picture(
    simulator: Simulator, row: int, facts: Sequence[npt.NDArray[np.void]], title: str
) -> Image:
    """The last slots of one row [height, width, 3], from their facts [U], oldest first."""
    scenario, slot, shown = simulator.scenario, simulator.slot, len(facts)
    end = scenario.history + slot
    cells, width = waterfall(simulator.world.emitter[row, end - shown : end], facts)
    height = TOP + cells.shape[0] + BOTTOM
    panel = LEFT + cells.shape[1] + GAP
    right = max(panel + PANEL, LEFT + text_width(title, TEXT) + GAP)
    # video encoders want even sizes
    image = np.empty((height + height % 2, right + right % 2, 3), dtype=np.uint8)
    image[:] = PAPER
    image[TOP : TOP + cells.shape[0], LEFT : LEFT + cells.shape[1]] = cells
    write(image, f"{scenario.name}  slot {slot} of {scenario.episode_slots}", LEFT, 10)
    write(image, title, LEFT, 32, FAINT)
    _draw_axes(image, slot, shown, scenario.channels, width)
    _draw_panel(image, panel, simulator, row)
    return image
