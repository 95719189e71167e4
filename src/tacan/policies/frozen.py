"""Frozen policies: one self-describing ONNX file each, run on ONNX Runtime without torch.

The file carries, as ONNX metadata under ``tacan``, a JSON object with the method, seed, scenario,
training settings, version and a summary of the training curve; and under ``content_sha256`` the
SHA-256 of the file itself with those 64 digits as zeros, so that any change to it is noticed.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

from tacan.errors import UserError
from tacan.observation import Observation
from tacan.policies.contexts import DecisionBatch
from tacan.policies.own_network import OwnNetwork, open_session
from tacan.policies.policy import Scores
from tacan.scenario import Scenario, ScenarioError, validate_scenario
from tacan.simulator.simulator import Privilege, Secrets
from tacan.simulator.streams import EpisodeKeys

METADATA_KEY = "tacan"
DIGEST_KEY = "content_sha256"
FORMAT = 1
ZERO_DIGEST = b"0" * 64
# a protobuf string field of 64 bytes behind the key's own field
DIGEST_PATTERN = re.compile(DIGEST_KEY.encode() + rb"\x12\x40([0-9a-f]{64})")
SLOTS_AT_ONCE = 32
"""larger batches leave the processor's cache and run slower a slot"""
MUST_MATCH = {"channels": "K", "history": "H", "users": "N_SU"}


def content_digest(content: bytes) -> str:
    """The digest that a policy file of this content must carry."""
    return hashlib.sha256(DIGEST_PATTERN.sub(_with_zeros, content)).hexdigest()


def _with_zeros(match: re.Match[bytes]) -> bytes:
    return match.group(0)[:-64] + ZERO_DIGEST


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"policy {path}: cannot be read ({error.strerror})") from None


def _read(path: Path) -> tuple[onnxruntime.InferenceSession, dict[str, Any], str]:
    """A session, the metadata and the digest of a policy file; refused unless it is intact."""
    content = _content(path)
    found = DIGEST_PATTERN.findall(content)
    if len(found) != 1:
        raise UserError(
            f"policy {path}: carries no digest: cut short, or not exported by 'tacan export'"
        )
    digest = found[0].decode()
    if content_digest(content) != digest:
        raise UserError(f"policy {path}: altered or damaged: its content does not match its digest")
    try:
        session = open_session(content)
        metadata = json.loads(session.get_modelmeta().custom_metadata_map[METADATA_KEY])
    except Exception as error:  # noqa: BLE001 - the runtime's errors share no other base
        reason = str(error).splitlines()[0]
        raise UserError(f"policy {path}: not a policy ({reason})") from None
    if metadata.get("format") != FORMAT:
        raise UserError(
            f"policy {path}: format {metadata.get('format')!r}; this version reads {FORMAT}"
        )
    return session, metadata, digest


class FrozenPolicy:
    """A network that no longer learns; ranks channels by its logits."""

    privilege = Privilege.NONE

    def __init__(self, path: Path, scenario: Scenario) -> None:
        self._session, self.metadata, self.content_hash = _read(path)
        self.name: str = self.metadata["method"]
        self.training_seed: int = self.metadata["seed"]
        self._identity: bool = self.metadata["identity"]
        try:
            trained = validate_scenario(self.metadata["scenario"], f"policy {path}")
        except ScenarioError as error:
            raise UserError(str(error)) from None
        for field, letter in MUST_MATCH.items():
            here, there = getattr(scenario, field), getattr(trained, field)
            if here != there:
                raise UserError(
                    f"policy {path}: made for {letter} = {there} {field}, "
                    f"but scenario {scenario.name!r} has {here}"
                )
        self._delay_horizon = trained.reward.delay_horizon

    def start(self, keys: EpisodeKeys) -> None:
        """Nothing to forget: all that it knows is in the observation."""

    def _run(self, observation: Observation, output: str) -> npt.NDArray[np.float32]:
        rows, users = observation.queue_class.shape
        answer = np.empty((rows, users, observation.occupancy.shape[2]), dtype=np.float32)
        for start in range(0, rows, SLOTS_AT_ONCE):
            part = slice(start, start + SLOTS_AT_ONCE)
            batch = DecisionBatch.of(
                Observation(
                    occupancy=observation.occupancy[part],
                    entropy=observation.entropy[part],
                    queue_class=observation.queue_class[part],
                    queue_delay=observation.queue_delay[part],
                    slot=observation.slot,
                ),
                self._delay_horizon,
                identity=self._identity,
            )
            feed = {
                "occupancy": batch.occupancy.astype(np.float32),
                "entropy": np.ascontiguousarray(batch.entropy),
                "context": batch.context,
                "context_slot": batch.context_slot,
            }
            answer[part] = self._session.run([output], feed)[0][batch.user_context]
        return answer

    def score(self, observation: Observation, secrets: Secrets | None = None) -> Scores:
        """The logits of every user [B, U, K] (eq:logits)."""
        del secrets
        return self._run(observation, "logits")

    @property
    def attends(self) -> bool:
        """Whether ``attention`` can be asked for."""
        return any(output.name == "attention" for output in self._session.get_outputs())

    def attention(self, observation: Observation) -> npt.NDArray[np.float32]:
        """How the QoS token's attention falls on the channels [B, U, K], adding up to 1.

        Last block, mean over heads, the QoS token's attention to itself left out.
        """
        if not self.attends:
            raise UserError(f"policy {self.name}: has no attention to show")
        return self._run(observation, "attention")


def load_policy(path: str | Path, scenario: Scenario) -> FrozenPolicy:
    """A frozen policy from its file, checked against the scenario it is to run in."""
    return FrozenPolicy(Path(path), scenario)


def load_file(path: Path, scenario: Scenario) -> FrozenPolicy | OwnNetwork:
    """The policy of any ONNX file: one that we froze, or else a network of the user's own."""
    content = _content(path)
    if DIGEST_KEY.encode() in content:
        return load_policy(path, scenario)
    return OwnNetwork(path, content, scenario)


@cache
def shipped() -> dict[str, dict[int, Path]]:
    """The frozen policies in the package: method -> training seed -> file."""
    found: dict[str, dict[int, Path]] = {}
    with resources.as_file(resources.files("tacan") / "zoo") as folder:
        for path in sorted(folder.glob("*.onnx")):
            method, _, seed = path.stem.rpartition("-")
            found.setdefault(method, {})[int(seed)] = path
    return found
