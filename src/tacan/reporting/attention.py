"""fig:attention_viz: the QoS token's attention by occupancy rank."""

from __future__ import annotations

from tacan.evaluation.store import RecordsError
from tacan.reporting.figure import Figure, Series
from tacan.reporting.paper import read_paper
from tacan.reporting.records import NoDataError, Records, UnavailableError

COLOURS = {"normal": "green", "high": "orange", "extreme": "red"}


def mean_attention(records: Records) -> dict[str, tuple[float, ...]]:
    """The mean weight by rank of every load, over seeds; each load's weights add up to 1."""
    frame, manifest = records.stage("attention")
    if frame.is_empty():
        raise UnavailableError("; ".join(manifest.unavailable) or "no attention was recorded")
    expected = sorted(manifest.inputs["seeds"])
    means = {}
    for load in dict.fromkeys(frame["load"].to_list()):
        rows = frame.filter(frame["load"] == load)
        if rows["weight"].null_count():
            raise NoDataError(f"attention at {load} load has no data: no slot after the first ones")
        ranks = sorted(set(rows["rank"].to_list()))
        weights = []
        for rank in ranks:
            of_rank = rows.filter(rows["rank"] == rank)
            if sorted(of_rank["seed"].to_list()) != expected:
                raise RecordsError(
                    f"attention at {load} load, rank {rank}: seeds {of_rank['seed'].to_list()} "
                    f"instead of {expected}; run stage 'attention' again with --fresh"
                )
            weights.append(sum(of_rank["weight"].to_list()) / len(expected))
        if not abs(sum(weights) - 1.0) <= 1e-3:  # NaN fails this test as well
            raise RecordsError(
                f"attention at {load} load adds up to {sum(weights):.4f}, not 1; "
                "run stage 'attention' again with --fresh"
            )
        means[load] = tuple(weights)
    return means


def attention_figure(records: Records) -> Figure:
    """Ours with full marks, the paper's dashed with hollow ones."""
    paper = read_paper().tables["attention"]
    series = []
    means = mean_attention(records)
    for load, weights in means.items():
        colour = COLOURS.get(load, "blue")
        ranks = tuple(float(rank) for rank in range(len(weights)))
        series.append(Series(f"{load.capitalize()} load", colour, ranks, weights))
        printed = tuple(paper.row(load).get("weights", ()))
        if len(printed) == len(weights):
            name = f"{load.capitalize()} load, the paper"
            series.append(Series(name, colour, ranks, printed, papers=True))
    uniform = 1.0 / len(series[0].x)
    return Figure(
        "attention_viz",
        paper.label,
        paper.title,
        "The QoS token's attention over channels in the last block, mean over heads, users, slots "
        "and seeds. Dashed, with hollow marks: the paper's.",
        "lines",
        "Occupancy rank (0: least occupied)",
        "Mean attention weight",
        tuple(series),
        level=(uniform, "uniform"),
        decimals=4,
    )
