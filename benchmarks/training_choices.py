"""The choices that the paper leaves open, on training seeds only.

    python benchmarks/training_choices.py [METHOD] [STEPS] [CHOICE ..]

Trains each named choice from training seed 9001 and judges it, without exploration, on training
episodes of seed 777, mixed and at extreme load. No held-out seed is touched.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tacan.scenario import EMPTY, load_scenario
from tacan.simulator.streams import Domain, EpisodeKeys
from tacan.simulator.world import WorldGenerator
from tacan.training.rollout import play
from tacan.training.run import Run, start_run
from tacan.training.settings import load_settings

SEED, JUDGING_SEED, EPISODES = 9001, 777, 150
COUNTERFACTUAL = {"advantages": "counterfactual"}
CHOICES: dict[str, dict[str, Any]] = {
    "gae-2x250": {"advantages": "gae", "epochs": 2, "minibatch_slots": 250, "cloning_epochs": 4},
    "counterfactual-2x250": COUNTERFACTUAL
    | {"epochs": 2, "minibatch_slots": 250, "cloning_epochs": 4},
    "counterfactual-1x125": COUNTERFACTUAL | {"cloning_epochs": 4},
    "counterfactual-1x125-2": COUNTERFACTUAL,
    "gae-1x125": {"advantages": "gae", "cloning_epochs": 4},
    "as-shipped": {},
}


def judge(run: Run) -> str:
    """Assignment success and packet access, mixed and extreme, of the policy as it stands."""
    scenario = run.learner.scenario
    keys = EpisodeKeys.of(Domain.TRAINING, JUDGING_SEED, np.arange(EPISODES))
    figures = []
    for name, load in (("mixed", None), ("extreme", scenario.load_index("extreme"))):
        world = WorldGenerator(scenario).draw(keys, load)
        rollout = play(world, run.learner.judge, explore=False)
        access = rollout.success[rollout.queue_class != EMPTY].mean()
        figures.append(f"{name}: assignment {rollout.success.mean():.2%}, access {access:.2%}")
    return "   ".join(figures)


def main() -> None:
    """Train and judge every choice in turn."""
    arguments = sys.argv[1:]
    method = arguments[0] if arguments else "tacan"
    steps = arguments[1] if len(arguments) > 1 else "60000"
    names = arguments[2:]
    torch.set_num_threads(1)
    for name in names or CHOICES:
        changes = CHOICES[name] | {"steps": int(steps)}
        with tempfile.TemporaryDirectory() as folder:
            settings = load_settings(changes=changes)
            run = start_run(method, load_scenario("paper"), settings, SEED, Path(folder))
            while run.iteration < run.iterations:
                run.advance()
                if run.iteration == run.cloning_iterations:
                    print(f"{method} {name} after cloning: {judge(run)}", flush=True)
            print(f"{method} {name} after {steps} slots: {judge(run)}", flush=True)


if __name__ == "__main__":
    main()
