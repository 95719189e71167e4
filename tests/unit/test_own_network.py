"""A network of the user's own in ONNX: what is taken, what it plays, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from fakes import draw_world, play
from tacan.controller.wiring import live_policy
from tacan.errors import UserError
from tacan.observation import controller_vector_size, user_vector_size
from tacan.policies.catalogue import build_policy
from tacan.scenario import load_scenario

TINY = load_scenario("tiny")
K, H, U = TINY.channels, TINY.history, TINY.users


def sums(width: int, outputs: int) -> np.ndarray:
    """Weights that turn a vector into minus the busy slots of each channel: Greedy's scores."""
    weights = np.zeros((width, outputs), dtype=np.float32)
    for place in range(H * K):
        weights[place, place % K :: K] = -1.0
    return weights


def write_network(
    path: Path, weights: np.ndarray, kind: int = TensorProto.FLOAT, inputs: int = 1
) -> str:
    """A file that multiplies its input by a matrix; ``kind`` is the type of its output."""
    width, outputs = weights.shape
    names = [f"vector_{number}" for number in range(inputs)]
    nodes = [
        helper.make_node("MatMul", [names[0], "weights"], ["product"]),
        helper.make_node("Cast", ["product"], ["logits"], to=kind),
    ]
    graph = helper.make_graph(
        nodes,
        "own",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", width]) for name in names],
        [helper.make_tensor_value_info("logits", kind, ["N", outputs])],
        [numpy_helper.from_array(weights, "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return str(path)


@pytest.mark.parametrize(
    ("width", "outputs"),
    [
        (user_vector_size(TINY), K),
        (controller_vector_size(TINY), U * K),
        (controller_vector_size(TINY), K),
    ],
    ids=["a row a user", "all users at once", "the same for all users"],
)
def test_a_network_that_sums_occupancy_plays_as_greedy(
    tmp_path: Path, width: int, outputs: int
) -> None:
    """By either vector, with scores for each user or for all: the very channels of Greedy."""
    policy = build_policy(write_network(tmp_path / "own.onnx", sums(width, outputs)), TINY, 1)
    world = draw_world(TINY, 3)
    greedy = build_policy("greedy", TINY, 1)
    for ours, theirs in zip(play(policy, world), play(greedy, world), strict=True):
        np.testing.assert_array_equal(ours.channels, theirs.channels)


@pytest.mark.parametrize(
    ("width", "outputs", "kind", "inputs", "complaint"),
    [
        (9, K, TensorProto.FLOAT, 1, r"must have one float32 input \[rows, 38 or 40\]"),
        (user_vector_size(TINY), K, TensorProto.FLOAT, 2, r"has inputs vector_0 .* vector_1"),
        (user_vector_size(TINY), K + 1, TensorProto.FLOAT, 1, "must hold 4 scores a row"),
        (controller_vector_size(TINY), 3, TensorProto.FLOAT, 1, "4 or 2 x that scores a row"),
        (user_vector_size(TINY), K, TensorProto.INT64, 1, "not the channels chosen"),
    ],
    ids=["another width", "two inputs", "another K", "neither K nor U x K", "actions"],
)
def test_a_network_that_does_not_fit_is_refused(
    tmp_path: Path, width: int, outputs: int, kind: int, inputs: int, complaint: str
) -> None:
    """Before anything is played, with what would be right."""
    weights = np.zeros((width, outputs), dtype=np.float32)
    path = write_network(tmp_path / "own.onnx", weights, kind, inputs)
    with pytest.raises(UserError, match=complaint):
        build_policy(path, TINY, 1)


def test_what_is_no_network_is_refused(tmp_path: Path) -> None:
    """Text, a cut file and a missing one."""
    path = tmp_path / "own.onnx"
    write_network(path, sums(user_vector_size(TINY), K))
    for content in (b"hello", path.read_bytes()[:-30]):
        path.write_bytes(content)
        with pytest.raises(UserError, match="is no ONNX network of your own either"):
            build_policy(str(path), TINY, 1)
    path.unlink()
    with pytest.raises(UserError, match="cannot be read"):
        build_policy(str(path), TINY, 1)


def test_the_controller_takes_only_files_that_show_damage(tmp_path: Path) -> None:
    """A file without a digest steers no radio by its mere name."""
    path = write_network(tmp_path / "own.onnx", sums(user_vector_size(TINY), K))
    with pytest.raises(UserError, match="carries no digest, so that damage"):
        live_policy(path, TINY, 1)
