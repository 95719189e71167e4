"""tab:sdn_overhead, tab:classes, tab:positioning, network sizes and training curves."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tacan.evaluation.experiments import MATCHED, MLP, TACAN
from tacan.evaluation.store import RecordsError
from tacan.reporting.columns import CLASS_NAMES, COLOUR_OF, method_name, or_broken
from tacan.reporting.figure import Figure, Series
from tacan.reporting.paper import Quantity, Value, read_paper
from tacan.reporting.records import Records, UnavailableError
from tacan.reporting.table import Cell, Row, Table, text_row
from tacan.scenario import CLASSES, PacketClass

COMPONENTS = {
    "extraction": "State extraction",
    "inference": "Policy inference",
    "rules": "Rule construction",
    "total": "Total measured path",
}
CLASS_COLUMNS = ("Devices", "Priority", "1/λ (slots)", "α", "Duration", "Dominant modulation")


def decision_path_table(records: Records) -> Table:
    """tab:sdn_overhead."""
    paper = read_paper().tables["sdn_overhead"]

    def build() -> Table:
        frame, manifest = records.stage("controller")
        quantity = read_paper().quantities["latency"]
        if frame.is_empty():
            raise UnavailableError("; ".join(manifest.unavailable) or "nothing was measured")
        rows = []
        for component, name in COMPONENTS.items():
            found = frame.filter(pl.col("component") == component)
            if found.height != 1:
                raise RecordsError(
                    f"records of stage 'controller' hold {found.height} rows of {component!r}, "
                    "not one; run the stage again with --fresh"
                )
            cells = tuple(
                Cell(
                    quantity,
                    Value(float(found[f"{column}_ms"][0]), None, 1),
                    paper.value(component, column),
                )
                for column in ("median", "p95")
            )
            rows.append(Row(name, cells, component == "total"))
        cycles, policy = frame["cycles"][0], frame["policy"][0]
        notes = (
            (
                f"{cycles:,} decisions of {policy} on one core of this machine; the paper's "
                "figures are of its authors' machine, so only the shape can be reproduced."
            ),
            "Sensing, classification, transport, installation and retuning are not in it.",
        )
        columns = ("Median (ms)", "95th percentile (ms)")
        return Table(paper.key, paper.label, paper.title, "Component", columns, tuple(rows), notes)

    return or_broken(paper.key, paper.label, paper.title, build)


def classes_table(records: Records) -> Table:
    """tab:classes, read from the scenario that was run."""
    paper = read_paper().tables["classes"]

    def build() -> Table:
        scenario = records.scenario()
        rows = []
        for name in CLASSES:
            found, printed = scenario.classes[name], paper.row(name)
            template = {PacketClass.URLLC: scenario.modulation.templates.urllc,
                        PacketClass.MMTC: scenario.modulation.templates.mmtc,
                        PacketClass.EMBB: scenario.modulation.templates.embb}[name]  # fmt: skip
            shares = dict(zip(scenario.modulation.schemes, template.shares, strict=True))
            dominant = {scheme: shares.get(scheme, 0.0) for scheme in printed["modulation"]}
            cells = (
                Cell(text=f"{found.devices}"),
                _plain("Priority", found.priority, printed["priority"]),
                _plain("1/λ", found.mean_idle_slots, printed["idle"]),
                _plain("α", found.pareto_shape, printed["shape"], decimals=1),
                Cell(
                    text=f"{found.shortest_busy} to {found.longest_busy}",
                    paper_text=f"{printed['shortest']} to {printed['longest']}",
                ),
                Cell(
                    text=_shares({key: 100 * share for key, share in dominant.items()}),
                    paper_text=_shares(printed["modulation"]),
                ),
            )
            rows.append(Row(CLASS_NAMES[name], cells))
        notes = (f"Scenario {scenario.name!r}, digest {scenario.digest()}.",)
        return Table(
            paper.key, paper.label, paper.title, "Class", CLASS_COLUMNS, tuple(rows), notes
        )

    return or_broken(paper.key, paper.label, paper.title, build)


def _plain(name: str, ours: float, printed: float, *, decimals: int = 0) -> Cell:
    quantity = Quantity(name, name, "", decimals, "neither", 0.0)
    return Cell(quantity, Value(ours, None, 1), Value(printed, None, 1))


def _shares(shares: dict[str, float]) -> str:
    return ", ".join(f"{scheme} {share:.0f} %" for scheme, share in shares.items())


def positioning_table(records: Records) -> Table:
    """tab:positioning, and a last row with what this software runs, by its records."""
    paper = read_paper().tables["positioning"]

    def build() -> Table:
        corner, *columns = paper.content["columns"]
        rows = [text_row(work[0], work[1:]) for work in paper.content["works"]]
        runs = "yes" if _has_rows(records, "controller") else "no"
        policy = "policy" if _ran(records, TACAN) else "not available"
        ours = Row(
            "TACAN, this software",
            tuple(Cell(text=text) for text in ("channels", policy, "token", "AMC", runs)),
            strong=True,
        )
        flat = Row(
            "PPO+MLP, this software",
            tuple(
                Cell(text=text)
                for text in (
                    "none",
                    "policy" if _ran(records, MLP) else "not available",
                    "input",
                    "AMC",
                    runs,
                )
            ),
        )
        notes = (
            (
                "The rows of others are the paper's reading of them. The last two rows are what "
                "ran for this report."
            ),
        )
        return Table(
            paper.key, paper.label, paper.title, corner, tuple(columns), (*rows, ours, flat), notes
        )

    return or_broken(paper.key, paper.label, paper.title, build)


def _has_rows(records: Records, stage: str) -> bool:
    try:
        return not records.stage(stage)[0].is_empty()
    except RecordsError:
        return False


def _ran(records: Records, policy: str) -> bool:
    return policy in set(records.stage("main")[0]["policy"].to_list())


def sizes_table(records: Records) -> Table:
    """The networks' sizes, as their files tell them."""
    paper = read_paper().tables["parameters"]

    def build() -> Table:
        frame, manifest = records.stage("training")
        rows = []
        for policy in (TACAN, MLP, MATCHED):
            counts = set(frame.filter(pl.col("policy") == policy)["parameters"].to_list())
            printed = paper.value(policy, "parameters")
            ours, missing = None, ""
            if len(counts) > 1:
                raise RecordsError(f"the seeds of {policy} differ in size: {sorted(counts)}")
            if counts:
                ours = Value(float(counts.pop()), None, 1)
            else:
                missing = _why(manifest.unavailable, policy)
            quantity = read_paper().quantities["parameters"]
            cells = (Cell(quantity, ours, printed),)
            rows.append(Row(method_name(policy), cells, policy == TACAN, missing))
        return Table("sizes", paper.label, paper.title, "Network", ("Parameters",), tuple(rows))

    return or_broken("sizes", paper.label, paper.title, build)


def _why(sentences: Sequence[str], policy: str) -> str:
    return next((text for text in sentences if repr(policy) in text), "no record of it")


def training_figure(records: Records) -> Figure:
    """How each learned policy got where it is, mean over seeds."""
    frame, manifest = records.stage("training")
    frame = frame.filter(pl.col("metric") == "packet_access")
    if frame.is_empty():
        raise UnavailableError("; ".join(manifest.unavailable) or "no training curve was recorded")
    series = []
    for policy in (TACAN, MLP, MATCHED):
        rows = frame.filter(pl.col("policy") == policy)
        if rows.is_empty():
            continue
        means = rows.group_by("slots").agg(
            pl.col("value").mean(), pl.col("value").std().alias("std")
        )
        means = means.sort("slots")
        series.append(
            Series(
                method_name(policy),
                COLOUR_OF[policy],
                tuple(means["slots"].to_list()),
                tuple(100.0 * value for value in means["value"].to_list()),
            )
        )
    return Figure(
        "training_curves",
        "",
        "Training curves",
        "Packet-present access of the exploring policy while it learns, mean over training seeds; "
        "the first slots are behaviour cloning of Greedy.",
        "lines",
        "Environment slots",
        "Packet-present access (%)",
        tuple(series),
        unit="%",
        notes=tuple(manifest.unavailable),
    )
