"""What the modulation entropy tells about a primary user, and what knowing it is worth.

    python benchmarks/modulation.py [--scenario NAME|FILE] [--figure FILE.svg]

prints the tables of docs/modulation.md and, with --figure, draws the class-conditional histograms.
The worth is that of an extra look-up: window-Bayes with and without the mean entropy of the
window's busy slots, and with the true class of the last of them, which is more than any classifier
can tell. All are estimated on TRAINING-domain episodes and judged on others.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from tacan.policies.window_table import BINS, quantile_bins, shrink
from tacan.scenario import CLASSES, Scenario, load_scenario
from tacan.simulator.modulation import draw_bank
from tacan.simulator.streams import Domain, EpisodeKeys
from tacan.simulator.world import World, WorldGenerator

NAMES = ("idle", *CLASSES)
EDGES = np.linspace(0.0, 1.0, 11)
FIT_EPISODES, JUDGE_EPISODES = 3_000, 2_000
ENTROPY_BINS = 6
SEED = 4_000_000


def auc(higher: np.ndarray, lower: np.ndarray) -> float:
    """P(a draw of the first exceeds one of the second), ties counted half."""
    place = np.searchsorted(np.sort(lower), [higher, higher], side="left").astype(float)
    place[1] = np.searchsorted(np.sort(lower), higher, side="right")
    return float(place.mean() / len(lower))


def print_histograms(entropy: np.ndarray) -> None:
    print("share of slots (%) by normalised entropy\n")
    heads = [f"{low:.1f}-{low + 0.1:.1f}" for low in EDGES[:-1]]
    print("| on air | mean | std | " + " | ".join(heads) + " |")
    print("|---|---|---|" + "---|" * len(heads))
    for name, row in zip(NAMES, entropy, strict=True):
        shares = 100.0 * np.histogram(row, EDGES)[0] / len(row)
        cells = " | ".join(f"{share:.1f}" for share in shares)
        print(f"| {name} | {row.mean():.3f} | {row.std():.3f} | {cells} |")


def print_separability(entropy: np.ndarray) -> None:
    print("\nAUC: P(entropy of the row's class exceeds that of the column's)\n")
    print("| | " + " | ".join(NAMES) + " |\n|---|" + "---|" * len(NAMES))
    for name, row in zip(NAMES, entropy, strict=True):
        cells = (f"{auc(row, other):.2f}" if row is not other else "" for other in entropy)
        print(f"| {name} | " + " | ".join(cells) + " |")


def draw(scenario: Scenario, first: int, episodes: int) -> World:
    seeds = SEED + first + np.arange(episodes)
    keys = EpisodeKeys.of(Domain.TRAINING, seeds, 0)
    return WorldGenerator(scenario).draw(keys, keep_devices=True)


def print_holding_times(world: World) -> None:
    """Correlation of a busy slot's entropy with how long its channel stays busy."""
    busy = world.occupancy[:, world.scenario.history :].astype(bool)
    left = np.zeros(busy.shape, dtype=np.int32)
    for t in range(busy.shape[1] - 1, -1, -1):
        after = left[:, t + 1] if t + 1 < busy.shape[1] else 0
        left[:, t] = np.where(busy[:, t], after + 1, 0)
    whole = left.copy()
    for t in range(1, busy.shape[1]):
        whole[:, t] = np.where(busy[:, t] & busy[:, t - 1], whole[:, t - 1], left[:, t])
    entropy = world.entropy[:, world.scenario.history :][busy]
    print("\ncorrelation of a busy slot's entropy with its channel's busy time: ", end="")
    print(f"whole {np.corrcoef(entropy, whole[busy])[0, 1]:.3f}, ", end="")
    print(f"still left {np.corrcoef(entropy, left[busy])[0, 1]:.3f}")


def contexts(world: World) -> dict[str, np.ndarray]:
    """What was seen in the window before every slot [B, T, K]; the total of the band [B, T, 1]."""
    history, slots = world.scenario.history, world.scenario.episode_slots
    shape = (len(world.keys), slots, world.scenario.channels)
    pattern = np.zeros(shape, dtype=np.int64)
    heard = np.zeros(shape, dtype=np.float32)
    busy = np.zeros(shape, dtype=np.int64)
    emitter = np.zeros(shape, dtype=np.int64)
    for h in range(history):  # from the oldest slot of the window to the newest
        now = world.occupancy[:, h : h + slots]
        pattern = (pattern << 1) | now
        busy += now
        heard += now * world.entropy[:, h : h + slots]
        emitter = np.where(now, world.emitter[:, h : h + slots], emitter)
    return {
        "pattern": pattern,
        "total": busy.sum(axis=2, keepdims=True),
        "entropy": np.where(busy > 0, heard / np.maximum(busy, 1), -1.0),
        "class": emitter,
        "nothing": np.zeros(shape, dtype=np.int64),
    }


def success(probability: np.ndarray, world: World) -> float:
    """Percent of idle slots among the best channels, one for every user."""
    users = world.scenario.users
    best = np.argpartition(-probability, users - 1, axis=2)[:, :, :users]
    coming = world.occupancy[:, world.scenario.history :]
    return 100.0 * (1.0 - float(np.take_along_axis(coming, best, axis=2).mean()))


def print_worth(scenario: Scenario, fit: World, judge: World) -> None:
    """Assignment success of the look-up by pattern and total alone, and by something more."""
    patterns = 1 << scenario.history
    known, asked = contexts(fit), contexts(judge)
    size = scenario.history * scenario.channels + 1
    bin_of_total = quantile_bins(np.bincount(known["total"].ravel(), minlength=size))
    cuts = np.quantile(
        known["entropy"][known["entropy"] >= 0], np.linspace(0, 1, ENTROPY_BINS + 1)[1:-1]
    )
    idle = 1 - fit.occupancy[:, scenario.history :].ravel()

    def cells(seen: dict[str, np.ndarray], more: str) -> np.ndarray:
        level = seen[more]
        if more == "entropy":
            level = np.where(level >= 0, np.searchsorted(cuts, level), 0)
        return (level * BINS + bin_of_total[seen["total"]]) * patterns + seen["pattern"]

    print(f"\nassignment success (%) by what is known of a window of {scenario.history} slots\n")
    print("| beyond occupancy | success |\n|---|---|")
    for more in ("nothing", "entropy", "class"):
        place = cells(known, more).ravel()
        length = max(ENTROPY_BINS, len(NAMES)) * BINS * patterns
        counts = (np.bincount(place, weights, length) for weights in (None, idle))
        table = shrink(*(count.reshape(-1, patterns) for count in counts)).ravel()
        print(f"| {more} | {success(table[cells(asked, more)], judge):.2f} |")


def draw_figure(entropy: np.ndarray, file: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "tacan"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
    for name, row in zip(NAMES, entropy, strict=True):
        axes.hist(row, np.linspace(0, 1, 51), histtype="step", density=True, label=name)
    axes.set(xlabel="normalised entropy of the modulation posterior", ylabel="density")
    axes.legend(frameon=False)
    figure.savefig(file, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenario", default="paper")
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    scenario = load_scenario(options.scenario)
    entropy = draw_bank(scenario.modulation).entropy
    print_histograms(entropy)
    print_separability(entropy)
    fit, judge = draw(scenario, 0, FIT_EPISODES), draw(scenario, FIT_EPISODES, JUDGE_EPISODES)
    print_holding_times(judge)
    print_worth(scenario, fit, judge)
    if options.figure:
        draw_figure(entropy, options.figure)


if __name__ == "__main__":
    main()
