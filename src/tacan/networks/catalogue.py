"""Networks by the name of the method that trains them."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tacan.errors import UserError
from tacan.networks.mlp import MatchedMlp, Mlp
from tacan.networks.network import PolicyNetwork
from tacan.networks.tacan import Tacan
from tacan.scenario import Scenario

NETWORKS: dict[str, Callable[[Scenario], PolicyNetwork]] = {
    "tacan": Tacan,
    "mlp": Mlp,
    "mlp-matched": MatchedMlp,
}


def require_method(method: str) -> None:
    """Refuse a name that no network has."""
    if method not in NETWORKS:
        raise UserError(f"method {method!r}: must be one of {', '.join(NETWORKS)}")


def build_network(method: str, scenario: Scenario, seed: int) -> PolicyNetwork:
    """A fresh network whose first weights depend on the seed alone."""
    require_method(method)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return NETWORKS[method](scenario)
