"""Records say how they were made, come back as they were written, and refuse to lie."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

import tacan
from tacan.errors import UserError
from tacan.evaluation.files import check_folder, check_writable, write_files
from tacan.evaluation.metrics import metric_names
from tacan.evaluation.records import (
    COLUMNS,
    encode_records,
    frame_of,
    read_records,
    record_name,
    recorded_scenario,
)
from tacan.evaluation.results import Result, SeedResult
from tacan.scenario import Scenario, load_scenario

TINY = load_scenario("tiny")
COMMAND = "tacan evaluate greedy --scenario tiny"


def result(
    policy: str = "greedy",
    *,
    order: str = "fixed",
    scenario: Scenario = TINY,
    access: float | None = 0.1 + 0.2,
    perturbation: str | None = None,
) -> Result:
    """Two seeds; every metric is 0.5 but packet_access of the first seed."""
    metrics = dict.fromkeys(metric_names(scenario.users), 0.5)
    first = {**metrics, "packet_access": access}
    return Result(
        policy=policy,
        order=order,
        scenario=scenario,
        load="mixed",
        perturbation=perturbation,
        steps=400,
        seeds=(SeedResult(42, first, None, None), SeedResult(7, metrics, 42, "0123abcd")),
    )


def written(folder: Path, *results: Result) -> list[Path]:
    contents = encode_records(results, folder, COMMAND)
    write_files(contents)
    return list(contents)


def test_a_record_says_all_that_is_needed_to_make_it_again(tmp_path: Path) -> None:
    """Command, version, whole scenario, policy with its hash and training seed, exact numbers."""
    (path,) = written(tmp_path, result())
    frame = read_records(path)
    assert frame.columns == [*COLUMNS, *metric_names(2)]
    first, second = frame.rows(named=True)
    assert (first["seed"], first["training_seed"], first["policy_hash"]) == (42, None, None)
    assert (second["seed"], second["training_seed"], second["policy_hash"]) == (7, 42, "0123abcd")
    assert first["packet_access"] == 0.1 + 0.2  # to the last bit
    assert (first["policy"], first["order"], first["load"]) == ("greedy", "fixed", "mixed")
    assert (first["steps"], first["perturbation"]) == (400, None)
    assert (first["command"], first["version"]) == (COMMAND, tacan.__version__)
    assert recorded_scenario(first["scenario_toml"], path) == TINY
    assert first["scenario_digest"] == TINY.digest()


def test_a_folder_is_read_as_one_table(tmp_path: Path) -> None:
    """Scenarios with other numbers of users have other columns: what is not there is null."""
    more = TINY.changed({"secondary.users": 3})
    written(tmp_path, result(), result("random"), result(scenario=more))
    frame = read_records(tmp_path)
    assert frame.height == 6
    assert frame["packet_access_user_2"].null_count() == 4


def test_a_metric_without_data_is_null(tmp_path: Path) -> None:
    """Neither NaN nor zero."""
    (path,) = written(tmp_path, result(access=None))
    assert read_records(path)["packet_access"].to_list() == [None, 0.5]


def test_every_result_has_a_file_of_its_own_and_keeps_it() -> None:
    """Whatever tells two results apart tells their files apart; a repetition replaces its own."""
    different = [
        result(),
        result("random"),
        result(order="rotating"),
        result(scenario=TINY.changed({"channels": 5})),
        result(perturbation="zero-entropy"),
        result("one/policy.onnx"),
        result("two/policy.onnx"),
        result("window-bayes:8"),
    ]
    names = [record_name(one) for one in different]
    assert len(set(names)) == len(names)
    assert record_name(result(access=0.9)) == names[0]
    assert names[0].startswith("greedy_fixed_tiny_mixed_")
    assert names[5].startswith("policy.onnx_fixed_tiny_mixed_")
    assert names[7].startswith("window-bayes-8_fixed_tiny_mixed_")


def test_writing_leaves_no_temporary_files(tmp_path: Path) -> None:
    """The folder is made if need be, and holds the records alone."""
    folder = tmp_path / "new" / "folder"
    paths = written(folder, result(), result("random"))
    assert sorted(folder.iterdir()) == sorted(paths)


def test_files_are_written_all_or_not_at_all(tmp_path: Path) -> None:
    """The second file cannot be written: the first keeps its old content, nothing else remains."""
    first = tmp_path / "first.json"
    first.write_bytes(b"old")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UserError, match="cannot write"):
        write_files({first: b"new", tmp_path / "file" / "second.json": b"new"})
    assert first.read_bytes() == b"old"
    assert {path.name for path in tmp_path.iterdir()} == {"first.json", "file"}


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """What it points to is replaced, made if need be; nothing is left beside either."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "old.json").write_bytes(b"old")
    for name in ("old.json", "new.json"):
        link = tmp_path / f"link-{name}"
        link.symlink_to(tmp_path / "real" / name)
        check_writable(link, "--json")
        write_files({link: b"new"})
        assert link.is_symlink()
        assert link.read_bytes() == b"new"
    assert {path.name for path in (tmp_path / "real").iterdir()} == {"old.json", "new.json"}
    assert len(list(tmp_path.iterdir())) == 3


def test_a_device_or_a_pipe_is_never_replaced(tmp_path: Path) -> None:
    """Root could rename a file over /dev/null: refused before the work, and before the rename."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "link"):
        with pytest.raises(UserError, match=r"--json .*: is a device or a pipe, not a file"):
            check_writable(tmp_path / name, "--json")
        with pytest.raises(UserError, match=r"cannot write .*: is a device or a pipe"):
            write_files({tmp_path / "a.json": b"new", tmp_path / name: b"new"})
    assert (tmp_path / "pipe").is_fifo()
    assert len(list(tmp_path.iterdir())) == 2


def test_places_that_cannot_be_written_are_refused_beforehand(tmp_path: Path) -> None:
    """A sentence before hours of work, not after them."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UserError, match=r"--json .*: is a folder"):
        check_writable(tmp_path, "--json")
    with pytest.raises(UserError, match=r"--json .*none does not exist"):
        check_writable(tmp_path / "none" / "a.json", "--json")
    (tmp_path / "astray").symlink_to(tmp_path / "none" / "a.json")
    with pytest.raises(UserError, match=r"--json .*astray: the folder .*none does not exist"):
        check_writable(tmp_path / "astray", "--json")
    with pytest.raises(UserError, match=r"--out .*file is a file, not a folder"):
        check_folder(tmp_path / "file" / "deeper", "--out")
    check_writable(tmp_path / "a.json", "--json")
    check_folder(tmp_path / "new" / "folder", "--out")


def test_an_altered_number_is_refused(tmp_path: Path) -> None:
    """Someone improved a result by a tenth of a point."""
    (path,) = written(tmp_path, result())
    pl.read_parquet(path).with_columns(delay_mean=pl.lit(0.499)).write_parquet(path)
    with pytest.raises(UserError, match="row 1 was altered after it was written"):
        read_records(path)


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    """Half a file, as a full disk leaves it."""
    (path,) = written(tmp_path, result())
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(UserError, match="damaged, or no Parquet file"):
        read_records(path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda frame: frame.drop("command"), "column 'command' is missing"),
        (lambda frame: frame.drop("packet_access"), "column 'packet_access' is missing or not of"),
        (lambda frame: frame.with_columns(mood=pl.lit(1.0)), "column 'mood' is not known"),
        (lambda frame: frame.with_columns(format=pl.lit(2)), "its format is 2, not 1"),
        (lambda frame: frame.cast({"seed": pl.String}), "column 'seed' is missing or not of type"),
        (lambda frame: frame.head(0), "it has no rows"),
        (lambda frame: frame.with_columns(scenario_toml=pl.lit("=")), "scenario is not valid TOML"),
        (lambda frame: frame.with_columns(scenario_toml=pl.lit("a = 1")), "records .*: scenario: "),
    ],
)
def test_foreign_tables_are_refused(tmp_path: Path, change: object, sentence: str) -> None:
    """A Parquet file that the command did not write, or of another version, says what is wrong."""
    path = tmp_path / "foreign.parquet"
    change(frame_of(result(), COMMAND)).write_parquet(path)
    with pytest.raises(UserError, match=sentence):
        read_records(path)


def test_missing_records_are_refused(tmp_path: Path) -> None:
    """No such file, or a folder without records."""
    with pytest.raises(UserError, match="there is no such file or folder"):
        read_records(tmp_path / "none")
    with pytest.raises(UserError, match=r"the folder holds no \.parquet files"):
        read_records(tmp_path)
