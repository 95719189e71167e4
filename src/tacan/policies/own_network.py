"""A user's own network in ONNX: one vector in, scores of the channels out.

Any framework can write such a file. Its only input is a float32 batch of one of the vectors that
the environments show: ``user_vectors`` (one row for each user) or ``controller_vectors`` (one row
for all). Its output ``scores`` or ``logits`` (or else its first one) ranks the channels: K numbers
a row, or U x K where a row holds all users. Nothing vouches for such a file, so the controller
does not take it; ``frozen.py`` reads those that do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

from tacan.errors import UserError
from tacan.observation import (
    Observation,
    blank_observation,
    controller_vector_size,
    controller_vectors,
    user_vector_size,
    user_vectors,
)
from tacan.policies.policy import Scores
from tacan.scenario import Scenario
from tacan.simulator.simulator import Privilege, Secrets
from tacan.simulator.streams import EpisodeKeys

OUTPUT_NAMES = ("scores", "logits")
INPUT_TYPE = "tensor(float)"
TRIAL_ROWS = 2


def open_session(content: bytes) -> onnxruntime.InferenceSession:
    """A network on one thread of the processor."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what is wrong is said by the exception
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


class OwnNetwork:
    """Ranks channels by what somebody's network answers to an observation vector."""

    privilege = Privilege.NONE

    def __init__(self, path: Path, content: bytes, scenario: Scenario) -> None:
        self.name = path.stem
        self._path = path
        self._channels, self._users = scenario.channels, scenario.users
        self._delay_horizon = scenario.reward.delay_horizon
        try:
            self._session = open_session(content)
        except Exception as error:  # noqa: BLE001 - the runtime's errors share no other base
            reason = str(error).splitlines()[0]
            raise UserError(
                f"policy {path}: carries no digest of 'tacan export' (cut short, or from elsewhere)"
                f", and is no ONNX network of your own either ({reason})"
            ) from None
        sizes = {user_vector_size(scenario): True, controller_vector_size(scenario): False}
        width = self._width()
        if width not in sizes:
            raise self._refused(
                f"has inputs {self._inputs()}; a network of your own must have one float32 input "
                f"[rows, {' or '.join(map(str, sizes))}]: a user's vector, or the controller's"
            )
        self._by_user = sizes[width]
        names = [output.name for output in self._session.get_outputs()]
        self._output = next((name for name in OUTPUT_NAMES if name in names), names[0])
        self.score(blank_observation(scenario, TRIAL_ROWS))

    def _inputs(self) -> str:
        return ", ".join(f"{one.name} {one.shape}" for one in self._session.get_inputs())

    def _width(self) -> int | None:
        inputs = self._session.get_inputs()
        if len(inputs) != 1 or inputs[0].type != INPUT_TYPE or len(inputs[0].shape) != 2:
            return None
        width = inputs[0].shape[1]
        return width if isinstance(width, int) else None

    def _refused(self, why: str) -> UserError:
        return UserError(f"policy {self._path}: {why}")

    def start(self, keys: EpisodeKeys) -> None:
        """Nothing to forget: all that it knows is in the observation."""

    def score(self, observation: Observation, secrets: Secrets | None = None) -> Scores:
        """The network's scores, [B, U, K], or [B, 1, K] if a row for all users has K of them."""
        del secrets
        rows = observation.queue_class.shape[0]
        if self._by_user:
            vectors = user_vectors(observation, self._delay_horizon)
            vectors = vectors.reshape(-1, vectors.shape[2])
        else:
            vectors = controller_vectors(observation, self._delay_horizon)
        answer = self._ask(vectors)
        users = self._users if self._by_user else answer.size // (rows * self._channels)
        if answer.size != rows * users * self._channels or users not in {1, self._users}:
            wanted = f"{self._channels}" + ("" if self._by_user else f" or {self._users} x that")
            raise self._refused(
                f"output {self._output!r} has shape {list(answer.shape)} for {len(vectors)} rows; "
                f"it must hold {wanted} scores a row, one for each channel"
            )
        return answer.reshape(rows, users, self._channels)

    def _ask(self, vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.floating]:
        try:
            answer: Any = self._session.run([self._output], {self._input_name: vectors})[0]
        except Exception as error:  # noqa: BLE001 - the same
            reason = str(error).splitlines()[0]
            raise self._refused(f"does not run on {len(vectors)} rows ({reason})") from None
        if not isinstance(answer, np.ndarray) or not np.issubdtype(answer.dtype, np.floating):
            kind = getattr(answer, "dtype", type(answer).__name__)
            raise self._refused(
                f"output {self._output!r} is {kind}: it must be scores of the channels as floats, "
                "not the channels chosen, for the service order makes the choice"
            )
        return answer

    @property
    def _input_name(self) -> str:
        name: str = self._session.get_inputs()[0].name
        return name
