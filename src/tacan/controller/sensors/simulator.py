"""The simulator as a radio: live queues, occupancy and modulation entropies, slot by slot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tacan.controller.messages import NO_CHANNEL, Applied, Plan, Report, SensorEnded
from tacan.controller.ports import NANOSECONDS, Actuator, Clock
from tacan.scenario import Scenario
from tacan.simulator.queues import SlotFacts
from tacan.simulator.simulator import Simulator
from tacan.simulator.streams import Domain, EpisodeKeys
from tacan.simulator.world import World, WorldGenerator


class SimulatedRadio:
    """A Sensor that plays a world; ``play`` is told which channels its users have.

    Reports of the H slots before the episode come first, so that the controller's observations are
    those of the simulator, bit by bit. When an episode ends the next one starts. A slot for which
    nothing was played passes in silence: nobody transmits.
    """

    def __init__(
        self,
        scenario: Scenario,
        clock: Clock,
        *,
        seed: int,
        episode: int = 0,
        load: str = "mixed",
        slots: int = 0,
        slot_seconds: float = 0.0,
    ) -> None:
        self.scenario = scenario
        self._clock = clock
        self._generator = WorldGenerator(scenario)
        self._seed, self._episode = seed, episode
        self._load = None if load == "mixed" else scenario.load_index(load)
        self._left = slots or None
        self.step_ns = int(slot_seconds * NANOSECONDS)
        self.slot_ends_ns = 0
        self._begin()

    def _begin(self) -> None:
        keys = EpisodeKeys.of(Domain.EVALUATION, self._seed, self._episode)
        loads = None if self._load is None else [self._load]
        self.simulator = Simulator(self._generator.draw(keys, loads))
        self._reported = False
        self._played = True

    @property
    def world(self) -> World:
        """The episode being played."""
        return self.simulator.world

    @property
    def waiting(self) -> bool:
        """Whether a slot has been reported that was not played yet."""
        return not self._played

    async def start(self) -> None:
        """Time starts now."""
        self._due_ns = self._clock.monotonic_ns()

    async def read(self, patience: float) -> Sequence[Report]:
        """The next slot; if slots last some time, when it is over."""
        if self.step_ns:
            until = self._clock.monotonic_ns() + int(patience * NANOSECONDS)
            await self._clock.sleep_until(min(self._due_ns, until))
            now = self._clock.monotonic_ns()
            if now < self._due_ns:
                return ()
            # a slot lasts its full time from when it is noticed: one that is late delays the others
            self.slot_ends_ns = self._due_ns = now + self.step_ns
        if not self._played:
            self.play((NO_CHANNEL,) * self.scenario.users)
        if self._left == 0:
            raise SensorEnded
        if self.simulator.done:
            self._episode += 1
            self._begin()
        if self._left is not None:
            self._left -= 1
        self._played = False
        return self._reports()

    def _reports(self) -> list[Report]:
        newest = self.simulator.slot - 1
        if self._reported:
            return [self._report(newest)]
        self._reported = True
        first = -self.scenario.history
        return [self._report(slot, restart=slot == first) for slot in range(first, 0)]

    def _report(self, slot: int, *, restart: bool = False) -> Report:
        row = self.scenario.history + slot
        queues = self.simulator.queues
        return Report(
            slot=slot,
            time=self._clock.monotonic_ns() / NANOSECONDS,
            occupancy=self.world.occupancy[0, row],
            entropy=self.world.entropy[0, row],
            queue_class=queues.head_class[0].copy(),
            queue_delay=queues.head_delay[0].copy(),
            restart=restart,
        )

    def play(self, channels: Sequence[int]) -> SlotFacts:
        """One slot passes; a user with channel -1 keeps its packet."""
        silent = [user for user, channel in enumerate(channels) if channel == NO_CHANNEL]
        self._played = True
        if not silent:
            return self.simulator.step(np.array([channels], dtype=np.int64))
        # the simulator gives everybody a channel: a silent user gets one that is made busy for it
        busy = self.world.occupancy[0, self.scenario.history + self.simulator.slot]
        truth = busy.copy()
        free = (k for k in range(busy.size) if k not in channels)
        placed = [next(free) if channel == NO_CHANNEL else channel for channel in channels]
        busy[[placed[user] for user in silent]] = 1
        try:
            return self.simulator.step(np.array([placed], dtype=np.int64))
        finally:
            busy[:] = truth

    async def stop(self) -> None:
        """Nothing to close."""

    def counts(self) -> Mapping[str, int]:
        """It refuses nothing."""
        return {}


class PlayedActuator:
    """An actuator whose plans are also played in the simulator, once users may transmit."""

    def __init__(self, inner: Actuator, radio: SimulatedRadio, clock: Clock) -> None:
        self._inner, self._radio, self._clock = inner, radio, clock

    async def start(self) -> None:
        """Start the actuator."""
        await self._inner.start()

    async def apply(self, plan: Plan) -> Applied:
        """Apply, wait for the guard time, transmit. A plan that failed is not transmitted."""
        applied = await self._inner.apply(plan)
        if applied.transmit_at_ns > self._clock.monotonic_ns():
            await self._clock.sleep_until(applied.transmit_at_ns)
        if self._radio.waiting:
            self._radio.play(plan.channels)
        return applied

    def down(self) -> frozenset[int]:
        """The actuator's."""
        return self._inner.down()

    def healthy(self) -> bool:
        """The actuator's."""
        return self._inner.healthy()

    def counts(self) -> Mapping[str, int]:
        """The actuator's."""
        return self._inner.counts()

    async def stop(self) -> None:
        """Stop the actuator."""
        await self._inner.stop()
