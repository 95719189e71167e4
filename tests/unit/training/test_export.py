"""Frozen policies: parity with torch, self-description, refusals, no torch at run time."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tacan.errors import UserError
from tacan.policies.assignment import ServiceOrder, assign, service_order
from tacan.policies.frozen import load_policy
from tacan.scenario import load_scenario
from tacan.simulator.simulator import Simulator
from tacan.simulator.streams import Domain, EpisodeKeys
from tacan.simulator.world import WorldGenerator
from tacan.training.checkpoint import load_checkpoint
from tacan.training.export import export_policy
from tacan.training.run import CHECKPOINT, Run, start_run
from tacan.training.settings import load_settings
from training_fakes import small_run


def frozen_run(folder: Path, method: str, scenario: str = "paper") -> tuple[Run, Path]:
    """A run after one short cloning rollout, and its policy file."""
    changes = {"steps": 1, "cloning_steps": 1, "rollout_episodes": 1, "precision": "fp32"}
    settings = load_settings(changes=changes)
    run = start_run(method, load_scenario(scenario), settings, 11, folder)
    run.advance()
    path = folder / f"{method}.onnx"
    export_policy(load_checkpoint(folder / CHECKPOINT), path)
    return run, path


@pytest.mark.parametrize("method", ["tacan", "mlp", "mlp-matched"])
def test_a_frozen_policy_decides_as_the_network_did(tmp_path: Path, method: str) -> None:
    """Logits agree with torch within 1e-4 and every assignment of 1,000 slots is the same."""
    run, path = frozen_run(tmp_path, method)
    policy = load_policy(path, run.learner.scenario)
    keys = EpisodeKeys.of(Domain.EVALUATION, 1, np.arange(5))
    simulator = Simulator(WorldGenerator(run.learner.scenario).draw(keys))
    policy.start(keys)
    while not simulator.done:
        seen = simulator.observe()
        torch_logits, _ = run.learner.judge(seen)
        logits = policy.score(seen)
        np.testing.assert_allclose(logits, torch_logits, atol=1e-4)
        order = service_order(ServiceOrder.FIXED, seen)
        channels = assign(logits, order)
        np.testing.assert_array_equal(channels, assign(torch_logits, order))
        simulator.step(channels)


def test_a_policy_file_describes_itself(tmp_path: Path) -> None:
    """Method, seed, scenario, settings and the training curve can be read from the file alone."""
    _, path = frozen_run(tmp_path, "tacan")
    policy = load_policy(path, load_scenario("paper"))
    assert (policy.name, policy.training_seed) == ("tacan", 11)
    assert policy.metadata["parameters"] == 485_892
    assert policy.metadata["scenario"]["channels"] == 20
    assert policy.metadata["settings"]["learning_rate"] == 3e-4
    assert policy.metadata["training_curve"][0]["slots"] == 200
    assert len(policy.content_hash) == 64


def test_attention_is_a_distribution_over_channels(tmp_path: Path) -> None:
    """The QoS token's attention adds up to 1 over the channels; a flat network has none."""
    run, path = frozen_run(tmp_path / "tacan", "tacan")
    keys = EpisodeKeys.of(Domain.EVALUATION, 1, np.arange(2))
    seen = Simulator(WorldGenerator(run.learner.scenario).draw(keys)).observe()
    weights = load_policy(path, run.learner.scenario).attention(seen)
    assert weights.shape == (2, 4, 20)
    np.testing.assert_allclose(weights.sum(axis=2), 1.0, atol=1e-5)
    run, path = frozen_run(tmp_path / "mlp", "mlp")
    with pytest.raises(UserError, match="has no attention"):
        load_policy(path, run.learner.scenario).attention(seen)


def test_altered_files_are_refused(tmp_path: Path) -> None:
    """A flipped bit, a missing end, text and a missing file each get their sentence."""
    _, path = frozen_run(tmp_path, "mlp", "tiny")
    scenario = load_scenario("tiny")
    good = path.read_bytes()
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 1
    for content, complaint in [
        (bytes(flipped), "altered or damaged"),
        (good[: len(good) // 2], "carries no digest"),
        (good + b"more", "altered or damaged"),
        (b"hello", "carries no digest"),
    ]:
        path.write_bytes(content)
        with pytest.raises(UserError, match=complaint):
            load_policy(path, scenario)
    path.unlink()
    with pytest.raises(UserError, match="cannot be read"):
        load_policy(path, scenario)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"channels": 8}, "K = 4 channels, but scenario 'tiny' has 8"),
        ({"history": 6}, "H = 4 history, but scenario 'tiny' has 6"),
        ({"secondary.users": 3}, "N_SU = 2 users, but scenario 'tiny' has 3"),
    ],
)
def test_a_policy_of_another_shape_is_refused(
    tmp_path: Path, change: dict[str, int], complaint: str
) -> None:
    """Another K, H or N_SU is named, with both numbers."""
    _, path = frozen_run(tmp_path, "mlp", "tiny")
    with pytest.raises(UserError, match=complaint):
        load_policy(path, load_scenario("tiny").changed(change))


def test_frozen_policies_run_without_torch(tmp_path: Path) -> None:
    """Where torch and onnx cannot be imported, a policy file still ranks channels."""
    _, path = frozen_run(tmp_path, "tacan", "tiny")
    program = (
        "import sys\n"
        "sys.modules['torch'] = sys.modules['onnx'] = None\n"
        "import numpy as np\n"
        "from tacan.policies.frozen import load_policy\n"
        "from tacan.scenario import load_scenario\n"
        "from tacan.simulator.simulator import Simulator\n"
        "from tacan.simulator.streams import Domain, EpisodeKeys\n"
        "from tacan.simulator.world import WorldGenerator\n"
        "scenario = load_scenario('tiny')\n"
        "world = WorldGenerator(scenario).draw(EpisodeKeys.of(Domain.EVALUATION, 1, [0, 1]))\n"
        "scores = load_policy(sys.argv[1], scenario).score(Simulator(world).observe())\n"
        "print(scores.shape, np.isfinite(scores).all())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "(2, 2, 4) True"


def test_a_policy_name_must_end_in_onnx(tmp_path: Path) -> None:
    """A wrong ending is refused before anything is written."""
    frozen_run(tmp_path, "mlp", "tiny")
    with pytest.raises(UserError, match=r"must end in \.onnx"):
        export_policy(load_checkpoint(tmp_path / CHECKPOINT), tmp_path / "policy.bin")
    assert not (tmp_path / "policy.bin").exists()


def test_a_run_without_a_rollout_is_not_frozen(tmp_path: Path) -> None:
    """First weights are no policy: there is nothing to freeze before the first rollout."""
    small_run(tmp_path)
    with pytest.raises(UserError, match="the run has not finished a rollout yet"):
        export_policy(load_checkpoint(tmp_path / CHECKPOINT), tmp_path / "mlp.onnx")
    assert not (tmp_path / "mlp.onnx").exists()
