"""What a report says of whole records, and of broken ones."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tacan.evaluation.store import RecordsError
from tacan.reporting.comparison import Verdict
from tacan.reporting.figure_files import figure_files
from tacan.reporting.judges import Outcome
from tacan.reporting.paper_page import paper_page, summary_sentence
from tacan.reporting.records import Question, Records
from tacan.reporting.report import Report, paper_report, table_files, write_report
from tacan.scenario import load_scenario, scenario_toml

Saver = Callable[..., None]
Frames = dict[str, pl.DataFrame]
GREEDY = Question("greedy")


def report_of(folder: Path) -> Report:
    return paper_report(Records(folder / "records"), "tacan reproduce")


def table_of(report: Report, key: str):  # noqa: ANN201
    return next(table for table in report.tables if table.key == key)


def test_the_papers_own_numbers_match_themselves(papers_folder: Path) -> None:
    """Records with the paper's means and deviations: every printed number matches."""
    report = report_of(papers_folder)
    verdicts = report.verdicts()
    assert verdicts[Verdict.MATCHES] == sum(verdicts.values()) > 140
    assert report.problems == ()


def test_the_papers_own_claims_are_reproduced(papers_folder: Path) -> None:
    """None differs, none exceeds, none is missing."""
    outcomes = report_of(papers_folder).outcomes()
    assert outcomes[Outcome.REPRODUCED] == 22 == sum(outcomes.values())


def test_the_papers_comparison_comes_out(papers_folder: Path) -> None:
    """TACAN against Greedy: 92.53 - 89.94 = 2.59 pp, 5 of 5 wins, sign test 0.0625."""
    row = table_of(report_of(papers_folder), "packet_comparison").rows[0]
    shown = dict(
        zip(table_of(report_of(papers_folder), "packet_comparison").columns, row.cells, strict=True)
    )
    assert shown["Mean gain"].ours.mean == pytest.approx(2.59)
    assert (shown["Wins"].shown, shown["Sign p"].shown) == ("5", "0.0625")


def test_a_shift_is_said_with_its_size(
    papers_folder: Path, papers_frames: Frames, save_stage: Saver
) -> None:
    """Greedy two points better: its cell is better by 2.00, and the claim of a gain differs."""
    better = papers_frames["main"].with_columns(
        pl.when(pl.col("policy") == "greedy")
        .then(pl.col("packet_access") + 0.02)
        .otherwise(pl.col("packet_access"))
        .alias("packet_access")
    )
    save_stage(papers_folder / "records", "main", better)
    report = report_of(papers_folder)
    greedy = next(r for r in table_of(report, "packet_main").rows if r.heading == "Greedy")
    comparison = greedy.cells[1].comparison
    assert comparison is not None
    assert comparison.difference == pytest.approx(2.0)
    assert comparison.verdict is Verdict.BETTER
    gain = next(claim for claim in report.claims if "2.59 points" in claim.claim)
    assert gain.outcome is Outcome.DIFFERS
    assert "+0.59 pp" in gain.because


def judged(report: Report, words: str) -> tuple[Outcome, str]:
    """The verdict on the one claim that has these words, and its reasons."""
    (found,) = (claim for claim in report.claims if words in claim.claim)
    return found.outcome, found.because


def test_an_effect_that_cannot_be_told_from_none_is_not_reproduced(
    papers_folder: Path, papers_frames: Frames, save_stage: Saver
) -> None:
    """Flattening that costs nothing lies within 0.6 points of a cost of 0.35, but is none."""
    full = papers_frames["main"].filter((pl.col("policy") == "tacan") & (pl.col("load") == "mixed"))
    flat = (
        papers_frames["mixing"]
        .drop("assignment_success")
        .join(full.select("seed", "assignment_success"), on="seed")
    )
    save_stage(papers_folder / "records", "mixing", flat.select(papers_frames["mixing"].columns))
    report = report_of(papers_folder)
    outcome, because = judged(report, "costs only 0.35 points")
    assert (outcome, because) == (
        Outcome.DIFFERS,
        (
            "ours costs 0.00 points, 0.00 to 0.00 pp (95 % interval); the paper's 0.35; "
            "ours cannot be told from none"
        ),
    )
    assert judged(report, "falls steadily")[0] is Outcome.DIFFERS


def test_a_gain_within_a_wide_tolerance_needs_its_interval_above_zero(
    papers_folder: Path, papers_frames: Frames, save_stage: Saver
) -> None:
    """Five wins of very different size: the mean is the paper's, and yet it may be nothing."""
    gains = {42: 0.0005, 123: 0.0005, 7: 0.0005, 2024: 0.05, 314: 0.078}  # mean 2.59 points
    main = papers_frames["main"]
    access = {
        (row["seed"], row["load"]): row["packet_access"]
        for row in main.filter(pl.col("policy") == "greedy").iter_rows(named=True)
    }
    values = [
        access[row["seed"], "mixed"] + gains[row["seed"]]
        if row["policy"] == "tacan" and row["load"] == "mixed"
        else row["packet_access"]
        for row in main.iter_rows(named=True)
    ]
    shifted = main.with_columns(pl.Series("packet_access", values))
    save_stage(papers_folder / "records", "main", shifted)
    outcome, because = judged(report_of(papers_folder), "gains 2.59 points")
    assert "+2.59 pp" in because
    assert "won in 5 of 5 seeds" in because
    assert outcome is Outcome.DIFFERS


def test_each_claim_names_the_command_that_made_its_numbers(papers_folder: Path) -> None:
    """The stages that a verdict asked, and their command on the page."""
    report = report_of(papers_folder)
    (attention,) = (claim for claim in report.claims if "U-shaped" in claim.claim)
    assert attention.stages == ("attention",)
    markup = paper_page(report)
    assert markup.count("<summary>Rule and command</summary>") == len(report.claims)
    assert "<code>tacan reproduce</code>" in markup


def test_what_lies_beyond_the_paper_is_said_from_the_numbers(
    papers_folder: Path, papers_frames: Frames, save_stage: Saver
) -> None:
    """The findings stand on the page; without the ladder's records those on it are left out."""
    report = report_of(papers_folder)
    assert len(report.findings) == 5
    assert report.findings[-1] == (
        "Destroying all information in the modulation entropy costs TACAN 0.34 points of "
        "assignment, 0.12 to 0.56 pp (95 % interval)."  # 0.34 ± 2.776 x 0.18 / √5
    )
    assert "What the paper does not say" in paper_page(report)
    (papers_folder / "records" / "ladder.json").unlink()
    assert len(report_of(papers_folder).findings) < 5


def test_another_experiment_is_not_titled_the_paper(
    papers_folder: Path, papers_frames: Frames, save_stage: Saver
) -> None:
    """The title and the line below it name the scenario, the seeds and the slots."""
    assert report_of(papers_folder).title == "The paper, reproduced"
    other = scenario_toml(load_scenario("saturated"))
    main = papers_frames["main"].with_columns(pl.lit(other).alias("scenario_toml"))
    save_stage(papers_folder / "records", "main", main)
    report = report_of(papers_folder)
    assert report.title == "The paper's tables in another scenario: saturated"
    assert report.setting == "Scenario 'saturated', 5 held-out seeds of 10,000 slots"


def test_a_policy_that_does_not_ship_is_said_to_be_missing(
    papers_folder: Path, papers_frames: Frames, save_stage: Saver
) -> None:
    """Its row says so, its claims cannot be judged, and no number stands in its place."""
    main = papers_frames["main"].filter(pl.col("policy") != "tacan")
    sentence = "policy 'tacan' does not ship with this version of tacan"
    save_stage(papers_folder / "records", "main", main, (sentence,))
    report = report_of(papers_folder)
    row = next(r for r in table_of(report, "packet_main").rows if r.heading == "TACAN")
    assert row.missing == sentence
    assert {cell.shown for cell in row.cells} == {"not available"}
    assert report.claims[0].outcome is Outcome.MISSING
    assert sentence in report.unavailable()
    assert report.problems == ()


def altered(folder: Path) -> None:
    """One digit of one number: 0.8994 becomes 0.9994."""
    path = folder / "main.parquet"
    frame = pl.read_parquet(path)
    changed = frame.with_columns(
        pl.when((pl.col("policy") == "greedy") & (pl.col("seed") == 7))
        .then(pl.col("packet_access") + 0.1)
        .otherwise(pl.col("packet_access"))
        .alias("packet_access")
    )
    changed.write_parquet(path)


def truncated(folder: Path) -> None:
    content = (folder / "main.parquet").read_bytes()
    (folder / "main.parquet").write_bytes(content[: len(content) // 2])


def deleted(folder: Path) -> None:
    (folder / "main.parquet").unlink()


def foreign_inputs(folder: Path) -> None:
    content = json.loads((folder / "main.json").read_text())
    content["inputs"]["seeds"] = [42, 123, 7]
    (folder / "main.json").write_text(json.dumps(content))


def no_manifest(folder: Path) -> None:
    (folder / "main.json").write_text("{")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (altered, "not what was written"),
        (truncated, "not what was written"),
        (deleted, "main.parquet is missing"),
        (foreign_inputs, "inputs were altered"),
        (no_manifest, "main.json is damaged"),
    ],
)
def test_damaged_records_show_no_number(
    papers_folder: Path, damage: Callable[[Path], None], sentence: str
) -> None:
    """A tampered stage: its tables, claims, page and summary say so, and print no number of it."""
    damage(papers_folder / "records")
    report = report_of(papers_folder)
    table = table_of(report, "packet_main")
    assert sentence in table.broken
    assert table.rows == ()
    assert any(sentence in problem for problem in report.problems)
    assert report.claims[0].outcome is Outcome.MISSING
    markup = paper_page(report)
    assert "No numbers here." in markup
    assert sentence in markup  # as it stands, its first letter apart
    assert "92.53 ± 0.47" not in markup.split("Packet service")[-1].split("Classes and users")[0]


def doubled(frame: pl.DataFrame) -> pl.DataFrame:
    mine = (pl.col("policy") == "greedy") & (pl.col("seed") == 7)
    return pl.concat([frame, frame.filter(mine)])


def lost(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter((pl.col("policy") != "greedy") | (pl.col("seed") != 2024))


def not_asked_for(frame: pl.DataFrame) -> pl.DataFrame:
    greedy = (pl.col("policy") == "greedy") & (pl.col("seed") == 42)
    return frame.with_columns(
        pl.when(greedy).then(pl.lit(99)).otherwise(pl.col("seed")).alias("seed")
    )


def no_rate(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.lit(1.25).alias("packet_access"))


def no_number(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.lit(float("nan")).alias("packet_access"))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (doubled, "seed 7 twice"),
        (lost, "seed 2024 lost"),
        (not_asked_for, "seed 42 lost"),
        (no_rate, "is no rate between 0 and 1"),
        (no_number, "packet_access = nan is no number"),
    ],
)
def test_incomplete_records_are_refused_even_if_their_hash_is_right(
    papers_folder: Path,
    papers_frames: Frames,
    save_stage: Saver,
    change: Callable[[pl.DataFrame], pl.DataFrame],
    sentence: str,
) -> None:
    """A seed doubled, lost or foreign, or a rate that cannot be: a sentence, not a wrong mean."""
    save_stage(papers_folder / "records", "main", change(papers_frames["main"]))
    with pytest.raises(RecordsError, match=sentence):
        Records(papers_folder / "records").by_seed(GREEDY, "packet_access")
    report = report_of(papers_folder)
    assert sentence in table_of(report, "packet_main").broken
    assert any(sentence in problem for problem in report.problems)


def test_what_nothing_happened_for_is_a_cell_and_no_fault(
    papers_folder: Path, papers_frames: Frames, save_stage: Saver
) -> None:
    """Greedy delivered nothing in one seed: its delay says so, every other number stands."""
    mine = (pl.col("policy") == "greedy") & (pl.col("seed") == 7) & (pl.col("load") == "mixed")
    quiet = papers_frames["main"].with_columns(
        pl.when(mine).then(None).otherwise(pl.col("delay_mean")).alias("delay_mean")
    )
    save_stage(papers_folder / "records", "main", quiet)
    report = report_of(papers_folder)
    row = next(r for r in table_of(report, "packet_main").rows if r.heading == "Greedy")
    assert [cell.shown for cell in row.cells][:4] == ["91.60 ± 0.32", "89.94 ± 0.57",
                                                      "30.11 ± 0.00", "no data"]  # fmt: skip
    assert row.missing == "greedy (fixed, mixed): delay_mean has no data in seed 7"
    paired = table_of(report, "packet_comparison").rows
    assert [paired[line].cells[0].shown for line in (0, 1)] == ["2.59 ± 0.10", "not available"]
    assert report.problems == ()


def test_numbers_of_broken_tables_count_as_not_available(papers_folder: Path) -> None:
    """Each table says how many numbers of the paper are lost with it; the sum stays the paper's."""
    whole = {table.key: table.verdicts() for table in report_of(papers_folder).tables}
    total = sum(sum(verdicts.values()) for verdicts in whole.values())
    for stage in ("main", "training", "controller"):
        (papers_folder / "records" / f"{stage}.parquet").unlink()
    report = report_of(papers_folder)
    for table in report.tables:
        if table.broken:
            assert table.lost == sum(whole[table.key].values())
    assert sum(report.verdicts().values()) == report.verdicts()[Verdict.MISSING] == total
    assert f"and {total} are not available" in summary_sentence(report)


def test_records_of_one_seed_still_make_a_report(
    papers_folder: Path, papers_frames: Frames, save_stage: Saver
) -> None:
    """Nothing can be paired, and this is said where pairs would stand; means are shown."""
    for stage, frame in papers_frames.items():
        if "seed" in frame.columns:
            one = frame.filter(pl.col("seed") == 42)
            save_stage(papers_folder / "records", stage, one, seeds=[42])
    report = report_of(papers_folder)
    assert "needs two seeds or more" in table_of(report, "packet_comparison").broken
    assert table_of(report, "packet_main").broken == ""
    (problem,) = report.problems
    assert problem == table_of(report, "packet_comparison").broken


def test_a_stage_that_was_not_run_is_named(papers_folder: Path) -> None:
    """Without the ladder's records the ladder says which stage to run; the rest stands."""
    (papers_folder / "records" / "ladder.json").unlink()
    report = report_of(papers_folder)
    assert "stage 'ladder' has no records" in table_of(report, "ladder").broken
    assert table_of(report, "packet_main").broken == ""


@pytest.mark.parametrize(
    ("stage", "inputs", "sentence"),
    [
        ("mixing", {"steps": 100}, "are of steps 100, those of stage 'main' of steps 10000"),
        ("ablation", {"seeds": [42, 123]}, "of seeds 42, 123, those of stage 'main' of seeds 42, "),
        ("ladder", {"scenario": "persistent"}, "of scenario persistent, those of stage 'main' of"),
        ("orders", {"code": "changed"}, "of code changed, those of stage 'main' of code None"),
        ("attention", {"seeds": [42, 123]}, "of seeds 42, 123, those of"),
        ("controller", {"scenario": "wide"}, "of scenario wide, those of"),
        ("mixing", {"policies": {"tacan": "other"}}, "of policy 'tacan' other, those of"),
    ],
)
def test_stages_of_different_experiments_are_not_mixed(
    papers_folder: Path,
    papers_frames: Frames,
    save_stage: Saver,
    stage: str,
    inputs: dict[str, object],
    sentence: str,
) -> None:
    """Whole records of other slots, seeds, worlds, code or policies than main's are no number."""
    records = papers_folder / "records"
    save_stage(records, "main", papers_frames["main"], policies={"tacan": "this", "mlp": "that"})
    save_stage(records, stage, papers_frames[stage], **inputs)
    with pytest.raises(RecordsError, match=f"records of stage '{stage}' are of .*"):
        Records(records).stage(stage)
    (problem,) = report_of(papers_folder).problems
    assert sentence in problem


def test_stages_may_differ_in_what_they_do_not_depend_on(
    papers_folder: Path, papers_frames: Frames, save_stage: Saver
) -> None:
    """Attention is watched for fewer slots, the controller decides one seed, curves are stored."""
    records = papers_folder / "records"
    save_stage(records, "attention", papers_frames["attention"], steps=1_000)
    save_stage(records, "controller", papers_frames["controller"], seeds=[42], steps=1)
    save_stage(records, "training", papers_frames["training"], seeds=[42], scenario="wide")
    report = report_of(papers_folder)
    assert report.problems == ()
    assert report.outcomes()[Outcome.MISSING] == 0


def test_attention_that_does_not_add_up_is_refused(
    papers_folder: Path, papers_frames: Frames, save_stage: Saver
) -> None:
    """Weights of a load must add up to 1."""
    half = papers_frames["attention"].with_columns(pl.col("weight") / 2)
    save_stage(papers_folder / "records", "attention", half)
    figure = next(f for f in report_of(papers_folder).figures if f.key == "attention_viz")
    assert "adds up to 0.4999" in figure.broken


def test_attention_without_data_is_no_fault(
    papers_folder: Path, papers_frames: Frames, save_stage: Saver
) -> None:
    """Seeds shorter than the first window: no figure and no verdict, and the rest stands."""
    none = papers_frames["attention"].with_columns(weight=pl.lit(None, pl.Float64))
    save_stage(papers_folder / "records", "attention", none)
    report = report_of(papers_folder)
    figure = next(f for f in report.figures if f.key == "attention_viz")
    assert "attention at normal load has no data" in figure.broken
    assert report.outcomes()[Outcome.MISSING] == 1
    assert report.problems == ()


def test_a_report_leaves_all_its_files(papers_folder: Path) -> None:
    """Tables in three formats, figures in three, one page, and every number of the paper in one."""
    report = report_of(papers_folder)
    write_report(report, papers_folder, paper_page(report))
    for table in report.tables:
        for kind in ("md", "tex", "csv"):
            assert (papers_folder / "tables" / f"{table.key}.{kind}").stat().st_size > 0
    for figure in report.figures:
        for kind, head in (("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")):
            content = (papers_folder / "figures" / f"{figure.key}.{kind}").read_bytes()
            assert content.startswith(head)
    with (papers_folder / "tables" / "all-numbers.csv").open() as file:
        compared = [row for row in csv.DictReader(file) if row["verdict"]]
    assert len(compared) == sum(report.verdicts().values())
    lines = (papers_folder / "tables" / "against-the-paper.md").read_text().splitlines()
    assert len(lines) - 2 == len(compared)


def test_a_report_takes_away_what_an_earlier_one_drew(papers_folder: Path) -> None:
    """A figure that is refused now does not stay as a picture; what others put there does."""
    report = report_of(papers_folder)
    write_report(report, papers_folder, paper_page(report))
    others = [papers_folder / name for name in ("figures/mine.png", "tables/mine.csv", "notes.md")]
    for path in others:
        path.write_text("mine")
    names = json.loads((papers_folder / "report-files.json").read_text())
    listed = [*names, "notes.md", "../tables/mine.csv", "figures/../notes.md"]
    (papers_folder / "report-files.json").write_text(json.dumps(listed))
    (papers_folder / "records" / "mixing.parquet").unlink()
    report = report_of(papers_folder)
    write_report(report, papers_folder, paper_page(report))
    kept = {path.name for path in (papers_folder / "figures").iterdir()}
    assert "amc_mixing.png" not in kept
    assert {"gains.png", "ladder_figure.svg", "mine.png"} <= kept
    assert all(path.read_text() == "mine" for path in others)


def test_a_damaged_list_of_files_takes_nothing_away(papers_folder: Path) -> None:
    """The report is written as into a folder that has none."""
    report = report_of(papers_folder)
    for content in ("{", "3", "[1]"):
        (papers_folder / "report-files.json").write_text(content)
        write_report(replace(report, figures=()), papers_folder, paper_page(report))
    assert (papers_folder / "tables" / "packet_main.md").exists()


def test_the_page_needs_no_network(papers_folder: Path) -> None:
    """Nothing in it is fetched from anywhere."""
    markup = paper_page(report_of(papers_folder))
    for trace in ("http://", "https://", "src=", "@import", "url("):
        assert trace not in markup


def test_the_summary_counts_what_there_is(papers_folder: Path) -> None:
    """One sentence with the counts of claims and numbers."""
    report = report_of(papers_folder)
    total = sum(report.verdicts().values())
    assert summary_sentence(report) == (
        "Of 22 claims, 22 are reproduced, 0 exceeded, 0 differ and 0 could not be judged. "
        f"Of {total} printed numbers, {total} match, 0 differ (0 of these for the better) "
        "and 0 are not available."
    )


def test_the_same_records_give_the_same_bytes(papers_folder: Path) -> None:
    """No date, no draw without a seed: page, tables and a figure's files are the same again."""
    first, second = report_of(papers_folder), report_of(papers_folder)
    assert paper_page(first) == paper_page(second)
    assert table_files(first.tables, Path()) == table_files(second.tables, Path())
    assert figure_files(first.figures[3]) == figure_files(second.figures[3])
