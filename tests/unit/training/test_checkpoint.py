"""Runs that cannot be lost: checkpoints, damage, resuming."""

import errno
import hashlib
import io
import os
from pathlib import Path

import pytest
import torch

from tacan.errors import UserError
from tacan.policies.frozen import load_policy
from tacan.training.checkpoint import MAGIC, load_checkpoint, replace_file, save_checkpoint
from tacan.training.code import code_digest
from tacan.training.export import export_policy
from tacan.training.run import CHECKPOINT, resume_run
from tacan.training.settings import load_settings
from training_fakes import small_run, weights


def test_a_resumed_run_ends_in_the_same_weights(tmp_path: Path) -> None:
    """Stopping after any rollout and resuming changes no bit of the final weights."""
    whole = small_run(tmp_path / "whole", "tacan")
    while whole.iteration < whole.iterations:
        whole.advance()
    for stop in (0, 1, 4):
        folder = tmp_path / f"cut-{stop}"
        run = small_run(folder, "tacan")
        for _ in range(stop):
            run.advance()
        del run
        run = resume_run(folder)
        assert run.iteration == stop
        while run.iteration < run.iterations:
            run.advance()
        for name, tensor in weights(whole).items():
            assert torch.equal(tensor, weights(run)[name]), name
        assert run.curve == whole.curve


def test_damage_is_noticed(tmp_path: Path) -> None:
    """A flipped bit, a missing end and a foreign file are each refused with what is wrong."""
    run = small_run(tmp_path)
    path = tmp_path / CHECKPOINT
    good = path.read_bytes()
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 1
    for content, complaint in [
        (bytes(flipped), "checksum does not match"),
        (good[:-10], "checksum does not match"),
        (b"PK\x03\x04 something else", "not a TACAN checkpoint"),
        (b"", "not a TACAN checkpoint"),
    ]:
        path.write_bytes(content)
        with pytest.raises(UserError, match=complaint):
            resume_run(tmp_path)
    path.unlink()
    with pytest.raises(UserError, match="cannot be read"):
        resume_run(tmp_path)
    assert run.iteration == 0


def test_a_full_disk_keeps_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a write fails the sentence says so, and the old file is there, whole, and alone."""
    run = small_run(tmp_path)
    before = (tmp_path / CHECKPOINT).read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="No space left on device"):
        run.advance()
    assert (tmp_path / CHECKPOINT).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [CHECKPOINT]
    monkeypatch.undo()
    assert resume_run(tmp_path).iteration == 0


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({}, "already holds this run; resume it with --resume"),
        ({"steps": 480}, r"another run \(steps 240, not 480\); name another folder with --out"),
        ({"seed": 4}, r"another run \(seed 3, not 4\)"),
        ({"method": "tacan"}, r"another run \(method mlp, not tacan\)"),
        ({"scenario": "paper"}, r"another run \(scenario tiny, not paper\)"),
    ],
)
def test_a_second_run_does_not_overwrite_the_first(
    tmp_path: Path, asked: dict[str, object], complaint: str
) -> None:
    """Starting where a run lies is refused; only if it is the same one, resuming is advised."""
    small_run(tmp_path)
    before = (tmp_path / CHECKPOINT).read_bytes()
    with pytest.raises(UserError, match=complaint):
        small_run(tmp_path, **asked)
    assert (tmp_path / CHECKPOINT).read_bytes() == before


def test_settings_changed_when_resuming_are_recorded(tmp_path: Path) -> None:
    """A lower rate holds from that rollout on and stands in the checkpoint and the policy file."""
    small_run(tmp_path).advance()
    changes = {"learning_rate": 1e-4, "gradient_clip": 0.5}  # the clip as it was
    run = resume_run(tmp_path, changes)
    run.advance()
    again = resume_run(tmp_path)
    assert again.settings.learning_rate == 1e-4
    assert again.changes == [{"iteration": 1, "learning_rate": 1e-4}]
    export_policy(load_checkpoint(tmp_path / CHECKPOINT), tmp_path / "mlp.onnx")
    metadata = load_policy(tmp_path / "mlp.onnx", run.learner.scenario).metadata
    assert (metadata["changes"], metadata["code"]) == (again.changes, code_digest())


@pytest.mark.parametrize("name", ["steps", "cloning_steps", "rollout_episodes"])
def test_what_a_run_is_counted_in_stays(tmp_path: Path, name: str) -> None:
    """Another length or cut would play episodes twice or leave some out: refused by name."""
    small_run(tmp_path)
    with pytest.raises(UserError, match=f"{name} cannot change in a run that has begun"):
        resume_run(tmp_path, {name: 7})


def test_a_checkpoint_of_other_weights_is_refused(tmp_path: Path) -> None:
    """Weights of another method do not slip into a network."""
    small_run(tmp_path, "mlp")
    saved = load_checkpoint(tmp_path / CHECKPOINT)
    save_checkpoint(tmp_path / CHECKPOINT, type(saved)(**{**vars(saved), "method": "mlp-matched"}))
    with pytest.raises(UserError, match="do not fit method 'mlp-matched'"):
        resume_run(tmp_path)


def test_a_run_of_a_gpu_is_read_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights that were saved on a GPU come back on the processor, bit for bit."""
    run = small_run(tmp_path)
    with monkeypatch.context() as saving:
        saving.setattr(torch.serialization, "location_tag", lambda _: "cuda:0")
        run.advance()
    again = resume_run(tmp_path)
    assert again.iteration == 1
    assert all(torch.equal(tensor, weights(run)[name]) for name, tensor in weights(again).items())


def test_a_checkpoint_of_another_version_is_refused_in_one_sentence(tmp_path: Path) -> None:
    """Fields that this version does not know, and kinds of objects that it will not load."""
    run = small_run(tmp_path)
    for field, value in (("mood", 1), ("seconds", Path("a"))):
        payload = io.BytesIO()
        torch.save(vars(run.checkpoint()) | {field: value}, payload)
        digest = hashlib.sha256(payload.getvalue()).hexdigest().encode()
        (tmp_path / CHECKPOINT).write_bytes(MAGIC + digest + b"\n" + payload.getvalue())
        with pytest.raises(UserError) as refusal:
            resume_run(tmp_path)
        assert str(refusal.value).endswith("another version of TACAN, which this one cannot read")


def test_a_checkpoint_without_the_newer_fields_is_read(tmp_path: Path) -> None:
    """What was written before code was fingerprinted goes on with other code, and says so."""
    run = small_run(tmp_path)
    older = dict(vars(run.checkpoint()))
    del older["changes"], older["code"]
    payload = io.BytesIO()
    torch.save(older, payload)
    digest = hashlib.sha256(payload.getvalue()).hexdigest().encode()
    (tmp_path / CHECKPOINT).write_bytes(MAGIC + digest + b"\n" + payload.getvalue())
    assert resume_run(tmp_path).changes == [{"iteration": 0, "code": code_digest()}]


@pytest.mark.parametrize("place", ["file/run", "/proc/none/run"])
def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, place: str) -> None:
    """A run below a file, or where nothing can be written, is refused in a sentence."""
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=f"{place}/checkpoint.tacan: cannot be written"):
        small_run(tmp_path / place)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"steps": 0}, "steps = 0"),
        ({"steps": 10**13}, "steps = 10000000000000"),
        ({"rollout_episodes": 10**9}, "rollout_episodes = 1000000000"),
        ({"epochs": 10**9}, "epochs = 1000000000"),
        ({"threads": 10**9}, "threads = 1000000000"),
        ({"discount": 1.5}, "discount = 1.5"),
        ({"epoch": 2}, "epoch is not a known key"),
        ({"advantages": "magic"}, "advantages = 'magic'"),
    ],
)
def test_impossible_settings_are_refused(changes: dict[str, object], complaint: str) -> None:
    """One sentence names the key and the value."""
    with pytest.raises(UserError, match=complaint):
        load_settings(changes=changes)


def test_a_link_in_a_files_place_stays_a_link(tmp_path: Path) -> None:
    """A policy file is exported through it, and never over a pipe."""
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    replace_file(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="is a device or a pipe, not a file"):
        replace_file(tmp_path / "pipe", b"new")
