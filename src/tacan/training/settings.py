"""Every number of a training run, in one frozen, validated object."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tacan.errors import UserError
from tacan.settings_files import error_sentence, read_toml

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Rate = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
MOST_STEPS = 10**12
Weight = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


class Advantages(StrEnum):
    """How an assignment is credited."""

    GAE = "gae"
    """plain PPO: generalised advantage estimation of the sampled channel"""
    COUNTERFACTUAL = "counterfactual"
    """what every other channel would have earned in the same slot: its occupancy is observed"""


class Precision(StrEnum):
    """The arithmetic of the matrix products."""

    AUTO = "auto"
    """bf16 for TACAN where the processor has it, else fp32"""
    FP32 = "fp32"
    BF16 = "bf16"


class TrainingSettings(BaseModel):
    """Two stages: behaviour cloning of Greedy, then PPO. Steps are environment slots."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    cloning_steps: int = Field(20_000, ge=0, le=MOST_STEPS)
    steps: int = Field(500_000, ge=1, le=MOST_STEPS)
    rollout_episodes: int = Field(20, ge=1, le=10_000)
    """whole episodes a rollout, all in memory: 20 x 200 slots in the paper's scenario"""
    minibatch_slots: int = Field(125, ge=1)
    """slots in a minibatch; all users' transitions of a slot stay together"""
    cloning_epochs: int = Field(2, ge=1, le=1_000)
    epochs: int = Field(1, ge=1, le=1_000)

    learning_rate: Rate = 3e-4
    final_learning_rate: Rate = 1e-5
    warm_up: Share = 0.03
    gradient_clip: Rate = 0.5
    clip: Rate = 0.2
    entropy: Weight = 0.03
    final_entropy: Weight = 0.01
    value_weight: Weight = 0.5
    forecast_weight: Weight = 0.1
    """of the auxiliary next-slot loss, in networks that have the head"""
    discount: Share = 0.9
    trace: Share = 0.9
    """lambda of generalised advantage estimation"""
    advantages: Advantages = Field(Advantages.GAE, strict=False)

    precision: Precision = Field(Precision.AUTO, strict=False)
    distinct_contexts: bool = True
    """run equal contexts of a slot once (exact); off is the plain way, for comparison"""
    compile: bool = False
    """torch.compile the network: needs a C++ compiler and half a minute to start"""
    threads: int = Field(1, ge=1, le=1_024)


PRESETS: dict[str, dict[str, Any]] = {
    "paper": {},
    "quick": {"steps": 48_000, "cloning_steps": 8_000, "advantages": "counterfactual"},
}


def load_settings(
    preset: str = "paper", file: Path | None = None, changes: dict[str, Any] | None = None
) -> TrainingSettings:
    """A preset, changed by a TOML file, changed by what the command line says."""
    if preset not in PRESETS:
        raise UserError(f"preset {preset!r}: must be one of {', '.join(PRESETS)}")
    return validate_settings(PRESETS[preset] | settings_of(file) | (changes or {}))


def settings_of(file: Path | None) -> dict[str, Any]:
    """What a TOML file says, not yet validated; nothing without one."""
    return {} if file is None else read_toml(file, "training settings")


def validate_settings(content: dict[str, Any]) -> TrainingSettings:
    """Settings from plain values, or a sentence that says what is wrong with them."""
    try:
        return TrainingSettings.model_validate(content)
    except ValidationError as error:
        raise UserError(error_sentence(error, "training settings")) from None
