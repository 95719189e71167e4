"""The network being trained: how it judges, and one update on a rollout."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import torch

from tacan.errors import UserError
from tacan.networks.catalogue import build_network
from tacan.networks.contexts import DecisionTensors
from tacan.networks.network import Judgement
from tacan.observation import Observation
from tacan.policies.contexts import DecisionBatch
from tacan.scenario import Scenario
from tacan.training.advantages import counterfactual_advantages, generalised_advantages
from tacan.training.losses import LossWeights, Minibatch, cloning_loss, ppo_loss
from tacan.training.rollout import Rollout
from tacan.training.settings import Advantages, Precision, TrainingSettings

EXPLODED = 1e6


class TrainingDivergedError(UserError):
    """A loss, gradient, weight or judgement that is no number or far beyond any sensible size."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"training diverged: {what}; the last good checkpoint is kept, "
            "try a lower learning_rate or gradient_clip"
        )


def require_bounded(what: str, *arrays: npt.NDArray[np.float32]) -> None:
    """Refuse what is not a number, or far beyond any sensible size."""
    for array in arrays:
        largest = float(np.abs(array).max())
        if not largest <= EXPLODED:  # NaN fails this test as well
            raise TrainingDivergedError(f"{what} became {largest:g}")


def uses_bfloat16(precision: Precision, method: str, device: torch.device) -> bool:
    """Whether matrix products run in bfloat16: asked for, or worth it on this processor."""
    if precision is not Precision.AUTO:
        return precision is Precision.BF16
    if method != "tacan":
        return False  # the flat networks are too small to gain from it
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    # older versions of torch cannot be asked; without an answer fp32 is the safe choice
    capabilities: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


class Learner:
    """A network, its optimizer, and the two kinds of update."""

    def __init__(
        self, method: str, scenario: Scenario, settings: TrainingSettings, seed: int
    ) -> None:
        self.method = method
        self.scenario = scenario
        self.settings = settings
        self.seed = seed
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.network = build_network(method, scenario, seed).to(self.device)
        self.optimizer = torch.optim.Adam(
            self.network.parameters(), lr=settings.learning_rate, eps=1e-5
        )
        self._bfloat16 = uses_bfloat16(settings.precision, method, self.device)
        self._run: Callable[..., Judgement] = self.network
        if settings.compile:
            self._run = torch.compile(self.network, dynamic=True)

    def batch(self, observation: Observation) -> DecisionBatch:
        """The decisions of an observation, as this network takes them."""
        return DecisionBatch.of(
            observation,
            self.scenario.reward.delay_horizon,
            identity=self.network.identity,
            distinct=self.settings.distinct_contexts,
        )

    def forward(self, batch: DecisionBatch) -> Judgement:
        """The network's answer, in the precision of the settings."""
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self._bfloat16):
            return self._run(DecisionTensors.of(batch, self.device))

    def judge(
        self, observation: Observation
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Logits [B, U, K] and values [B, U], for playing; never of a network that diverged."""
        batch = self.batch(observation)
        with torch.inference_mode():
            judgement = self.forward(batch)
        logits, values = judgement.logits.cpu().numpy(), judgement.value.cpu().numpy()
        require_bounded("the network's answer", logits, values)
        return logits[batch.user_context], values[batch.user_context]

    def require_sound(self, rollout: Rollout) -> None:
        """Refuse a network that learning from this rollout has ruined.

        The loss is known before a step only, so what the last step did shows in the weights and
        in how the network now judges the end of every episode.
        """
        for name, weights in self.network.state_dict().items():
            if not bool(torch.isfinite(weights).all()):
                raise TrainingDivergedError(f"a weight in {name} is no number")
        slots, rows = rollout.rewards.shape[:2]
        self.judge(rollout.observation(np.full(rows, slots - 1), np.arange(rows)))

    def _minibatches(
        self, rollout: Rollout, epochs: int, key: tuple[int, ...]
    ) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """(slot, row) index pairs of every minibatch; the shuffle depends on the key alone."""
        rows = rollout.rewards.shape[1]
        for epoch in range(epochs):
            shuffle = np.random.default_rng([self.seed, *key, epoch]).permutation(rollout.slots)
            for start in range(0, rollout.slots, self.settings.minibatch_slots):
                index = np.sort(shuffle[start : start + self.settings.minibatch_slots])
                yield np.divmod(index, rows)

    def _minibatch(
        self,
        rollout: Rollout,
        slot: npt.NDArray[np.int64],
        row: npt.NDArray[np.int64],
        decisions: DecisionBatch,
        returns: npt.NDArray[np.float64],
        advantages: npt.NDArray[np.float64],
    ) -> Minibatch:
        def tensor(array: npt.NDArray[np.generic]) -> torch.Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

        return Minibatch(
            user_context=tensor(decisions.user_context),
            channels=tensor(rollout.channels[slot, row]),
            taken=tensor(rollout.taken[slot, row]),
            next_occupancy=tensor(rollout.next_occupancy[slot, row]).float(),
            old_logits=tensor(rollout.logits[slot, row]),
            returns=tensor(returns[slot, row]).float(),
            advantages=tensor(advantages[slot, row]).float(),
        )

    def _descend(self, loss: torch.Tensor) -> None:
        require_bounded("the loss", loss.detach().cpu().numpy())
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(
            self.network.parameters(), self.settings.gradient_clip
        )
        if not math.isfinite(norm):
            raise TrainingDivergedError(f"the norm of the gradient became {float(norm):g}")
        self.optimizer.step()

    def _set_rate(self, rate: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def clone(self, rollout: Rollout, key: tuple[int, ...]) -> dict[str, float]:
        """Pull the policy towards the channels of a demonstrated rollout."""
        self.network.train()
        self._set_rate(self.settings.learning_rate)
        weights = LossWeights(clip=0, value=0, entropy=0, forecast=self.settings.forecast_weight)
        unused = np.zeros_like(rollout.rewards)
        losses = []
        for slot, row in self._minibatches(rollout, self.settings.cloning_epochs, key):
            decisions = self.batch(rollout.observation(slot, row))
            minibatch = self._minibatch(rollout, slot, row, decisions, unused, unused)
            loss = cloning_loss(self.forward(decisions), minibatch, weights)
            self._descend(loss)
            losses.append(float(loss.detach()))
        self.network.eval()
        return {"cloning": float(np.mean(losses))}

    def improve(
        self, rollout: Rollout, key: tuple[int, ...], progress: float, share: float
    ) -> dict[str, float]:
        """One PPO iteration at ``progress`` of the run, of which it covers ``share``."""
        settings = self.settings
        returns = generalised_advantages(rollout, settings.discount, settings.trace)
        advantages = returns
        returns = returns + rollout.values[:-1]
        if settings.advantages is Advantages.COUNTERFACTUAL:
            advantages = counterfactual_advantages(rollout)
        entropy = settings.entropy + progress * (settings.final_entropy - settings.entropy)
        weights = LossWeights(
            settings.clip, settings.value_weight, entropy, settings.forecast_weight
        )
        self.network.train()
        log: dict[str, list[float]] = {}
        minibatches = list(self._minibatches(rollout, settings.epochs, key))
        for number, (slot, row) in enumerate(minibatches):
            self._set_rate(learning_rate(settings, progress + share * number / len(minibatches)))
            decisions = self.batch(rollout.observation(slot, row))
            minibatch = self._minibatch(rollout, slot, row, decisions, returns, advantages)
            loss, parts = ppo_loss(self.forward(decisions), minibatch, weights)
            self._descend(loss)
            for name, part in parts.items():
                log.setdefault(name, []).append(float(part))
        self.network.eval()
        return {name: float(np.mean(values)) for name, values in log.items()}


def learning_rate(settings: TrainingSettings, progress: float) -> float:
    """Linear warm-up over the first share of the run, then a cosine to the final rate."""
    if progress < settings.warm_up:
        return settings.learning_rate * max(progress / settings.warm_up, 1e-3)
    rest = (progress - settings.warm_up) / max(1.0 - settings.warm_up, 1e-9)
    depth = settings.learning_rate - settings.final_learning_rate
    return settings.final_learning_rate + 0.5 * depth * (1.0 + math.cos(math.pi * min(rest, 1.0)))
