"""What Gymnasium is told of the environment when ``tacan`` is imported.

Entry points are strings, so nothing but Gymnasium itself is loaded before an environment is made.
"""

from __future__ import annotations

import gymnasium

ENVIRONMENT = "tacan/DynamicSpectrumAccess-v0"


def register_environments() -> None:
    """Make ``gymnasium.make`` and ``gymnasium.make_vec`` know the environment."""
    if ENVIRONMENT in gymnasium.registry:
        return
    gymnasium.register(
        ENVIRONMENT,
        entry_point="tacan.environments.single:DynamicSpectrumAccess",
        vector_entry_point="tacan.environments.vector:VectorDynamicSpectrumAccess",
    )
