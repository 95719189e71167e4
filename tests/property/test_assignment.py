"""Assignment and service order, for any scores and queues."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from strategies import observations
from tacan.observation import Observation
from tacan.policies.assignment import ServiceOrder, assign, service_order
from tacan.scenario import PacketClass, load_scenario

CROWD = load_scenario("tiny").changed({"channels": 6, "secondary.users": 5})
SCORES = st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 2.0])


@given(observations(CROWD, rows=3), st.sampled_from(ServiceOrder))
def test_a_service_order_names_every_user_once(
    observation: Observation, order: ServiceOrder
) -> None:
    """Every row is a permutation."""
    line = service_order(order, observation)
    assert line.shape == (3, 5)
    assert (np.sort(line, axis=1) == np.arange(5)).all()


@given(observations(CROWD, rows=1))
def test_nobody_is_served_after_somebody_less_urgent(observation: Observation) -> None:
    """Queued before empty, URLLC before others, longer waits before shorter ones."""
    line = service_order(ServiceOrder.QUEUED_FIRST, observation)[0]
    codes, delays = observation.queue_class[0][line], observation.queue_delay[0][line]
    urllc = list(PacketClass).index(PacketClass.URLLC)
    urgency = list(zip(codes >= 0, codes == urllc, delays, -line, strict=True))
    assert urgency == sorted(urgency, reverse=True)


@given(arrays(np.float64, (2, 3, 5), elements=SCORES), st.permutations(range(3)))
def test_nobody_could_have_had_a_better_channel(scores: np.ndarray, line: list[int]) -> None:
    """Each user's channel is the best of those that users before it left; none is taken twice."""
    usable = (scores > -np.inf).sum(axis=2).min() >= 3
    order = np.tile(np.array(line), (2, 1))
    if not usable:
        return
    channels = assign(scores, order)
    for row in range(2):
        left = set(range(5))
        for user in line:
            chosen = int(channels[row, user])
            assert chosen in left
            best = max(scores[row, user, channel] for channel in left)
            equals = [channel for channel in left if scores[row, user, channel] == best]
            assert chosen == min(equals)
            left.remove(chosen)
