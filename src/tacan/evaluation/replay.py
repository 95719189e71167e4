"""Frozen policies replayed on matched held-out trajectories.

All episodes of all seeds are played side by side, as rows of one batch. Worlds are drawn once for
a load and shared by all policies and service orders. A batch that would need too much memory is
played in chunks of rows; an episode's bits do not depend on its batch, so neither do the results.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, fields, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tacan.errors import UserError
from tacan.evaluation.ledger import Ledger
from tacan.evaluation.perturbations import Perturbation
from tacan.evaluation.protocol import Protocol, fixed_load
from tacan.policies import asking
from tacan.policies.assignment import ServiceOrder, assign, service_order
from tacan.policies.catalogue import build_policy, is_seeded
from tacan.policies.policy import Policy
from tacan.scenario import Scenario
from tacan.simulator.queues import PACKET
from tacan.simulator.simulator import Privilege, Simulator
from tacan.simulator.streams import EpisodeKeys
from tacan.simulator.world import World, WorldGenerator

MEMORY_BOUND = 256 * 2**20
"""Bytes that the worlds and queues of one batch may take; what policies keep comes on top."""
CELL_BYTES = 12
"""Of a world, for every row, slot and channel: 8 kept, 4 while entropies are computed anew."""

Progress = Callable[[int], None]
"""Told how many slots of episodes were played since the last call, from any thread."""


@dataclass(frozen=True)
class Contender:
    """A policy under a service order, built and ready to be replayed."""

    reference: str
    order: ServiceOrder
    policies: Mapping[int, Policy]
    """by seed; the same object for all seeds unless the policy is another one for every seed"""

    @staticmethod
    def build(
        reference: str, order: ServiceOrder, scenario: Scenario, seeds: Sequence[int]
    ) -> Contender:
        """The policy of a catalogue reference: one for each seed if it is a seeded one."""
        if is_seeded(reference):
            policies = {seed: build_policy(reference, scenario, seed) for seed in seeds}
        else:
            policies = dict.fromkeys(seeds, build_policy(reference, scenario, seeds[0]))
        for policy in policies.values():
            asking.check_privilege(policy, reference)
        return Contender(reference, order, policies)

    @property
    def seeded(self) -> bool:
        """Whether seeds have different policies, so that they cannot share a batch."""
        return len({id(policy) for policy in self.policies.values()}) > 1

    @property
    def privilege(self) -> Privilege:
        """The most that any of its policies may know."""
        return max(policy.privilege for policy in self.policies.values())


@dataclass(frozen=True)
class Replay:
    """A contender's books over all seeds of a protocol, under one load."""

    contender: Contender
    scenario: Scenario
    load: str
    protocol: Protocol
    perturbation: str | None
    ledger: Ledger


class Interrupted(Exception):  # noqa: N818 - it is no error, another thread's failure is
    """The replay was abandoned because another part of it failed."""


def chunk_rows(scenario: Scenario, *, keep_devices: bool, bound: int = MEMORY_BOUND) -> int:
    """How many episodes fit into a batch."""
    cells = (scenario.history + scenario.episode_slots) * scenario.channels
    queues = scenario.users * (scenario.episode_slots + scenario.secondary.queue_capacity)
    devices = scenario.episode_slots * scenario.devices * 2 if keep_devices else 0
    return max(1, bound // (cells * CELL_BYTES + queues * PACKET.itemsize + devices))


def select_rows(world: World, rows: slice) -> World:
    """Some episodes of a world, sharing its memory."""
    keys = EpisodeKeys(world.keys.domain, world.keys.seeds[rows], world.keys.episodes[rows])
    arrays = {
        field.name: getattr(world, field.name)[rows]
        for field in fields(world)
        if isinstance(getattr(world, field.name), np.ndarray)
    }
    return replace(world, keys=keys, **arrays)


def play(
    policy: Policy,
    order: ServiceOrder,
    world: World,
    ledger: Ledger,
    *,
    reference: str,
    perturbation: Perturbation | None = None,
    on_slot: Callable[[], None] | None = None,
) -> Ledger:
    """Let a policy play a world to the last slot that counts; its books come back checked."""
    simulator = Simulator(world)
    ends = set(ledger.lengths.tolist())
    asking.start(policy, reference, world.keys)
    while simulator.slot < max(ends):
        slot = simulator.slot
        observation = simulator.observe()
        line = service_order(order, observation)
        if perturbation is not None:
            observation = perturbation.observation(observation)
        secrets = simulator.reveal(policy.privilege)
        # one type and layout for every policy and order: the assignment is compiled once
        scores = asking.scores_of(policy, reference, observation, secrets)
        try:
            channels = assign(scores, np.ascontiguousarray(line))
        except ValueError as error:
            raise UserError(f"policy {reference!r}, slot {slot}, {error}") from error
        ledger.record(slot, simulator.step(channels))
        if slot + 1 in ends:
            ledger.close(slot + 1, simulator.queues)
        if on_slot is not None:
            on_slot()
    ledger.check()
    return ledger


@dataclass(frozen=True)
class _Job:
    """A contender's policy of one or all seeds, and the rows of a chunk that it plays."""

    contender: Contender
    policy: Policy
    rows: slice


def _jobs(contender: Contender, seeds: npt.NDArray[np.int64]) -> list[_Job]:
    """The jobs of a chunk whose rows belong to these seeds [rows]."""
    changes = (np.flatnonzero(np.diff(seeds)) + 1).tolist() if contender.seeded else []
    starts = [0, *changes, len(seeds)]
    return [
        _Job(contender, contender.policies[int(seeds[start])], slice(start, stop))
        for start, stop in pairwise(starts)
    ]


def slots_to_play(contenders: int, protocol: Protocol) -> int:
    """What ``progress`` will have been told in the end, for one load."""
    return contenders * protocol.steps * len(protocol.seeds)


def replay(
    contenders: Sequence[Contender],
    scenario: Scenario,
    protocol: Protocol,
    load: str,
    *,
    perturbation: Perturbation | None = None,
    threads: int = 1,
    progress: Progress | None = None,
    memory_bound: int = MEMORY_BOUND,
) -> list[Replay]:
    """Play all contenders on the same trajectories of one load; a Replay of each, in their order.

    With several threads the contenders (and the seeds of seeded ones) of a chunk play at the same
    time; no two contenders may share a policy object then.
    """
    keep_devices = any(contender.privilege >= Privilege.STATE for contender in contenders)
    generator = WorldGenerator(scenario, threads=threads)
    keys, lengths = protocol.keys(scenario), protocol.lengths(scenario)
    row_seed = protocol.row_seed(scenario)
    fixed = fixed_load(scenario, load)
    seed_of_row = np.asarray(protocol.seeds)[row_seed]
    size = chunk_rows(scenario, keep_devices=keep_devices, bound=memory_bound)
    books: list[list[Ledger]] = [[] for _ in contenders]
    for start in range(0, len(keys), size):
        chunk = slice(start, start + size)
        world = generator.draw(
            EpisodeKeys(keys.domain, keys.seeds[chunk], keys.episodes[chunk]),
            fixed,
            keep_devices=keep_devices,
        )
        if perturbation is not None:
            world = perturbation.world(world)
        jobs = [_jobs(contender, seed_of_row[chunk]) for contender in contenders]
        ledgers = iter(
            _play_all(
                [job for part in jobs for job in part],
                world,
                lengths[chunk],
                row_seed[chunk],
                len(protocol.seeds),
                perturbation,
                threads,
                progress,
            )
        )
        for contender_books, part in zip(books, jobs, strict=True):
            contender_books.extend(next(ledgers) for _ in part)
    name = None if perturbation is None else perturbation.name
    return [
        Replay(contender, scenario, load, protocol, name, Ledger.joined(parts))
        for contender, parts in zip(contenders, books, strict=True)
    ]


def _play_all(
    jobs: Sequence[_Job],
    world: World,
    lengths: npt.NDArray[np.int64],
    row_seed: npt.NDArray[np.int64],
    seed_count: int,
    perturbation: Perturbation | None,
    threads: int,
    progress: Progress | None,
) -> Iterable[Ledger]:
    stop = threading.Event()

    def run(job: _Job) -> Ledger:
        part = select_rows(world, job.rows)
        ledger = Ledger.opened(part, lengths[job.rows], row_seed[job.rows], seed_count)
        playing = np.bincount(ledger.lengths, minlength=world.scenario.episode_slots + 1)
        left = len(ledger.lengths)
        slot = 0

        def after_slot() -> None:
            nonlocal left, slot
            if stop.is_set():
                raise Interrupted
            if progress is not None:
                progress(left)
            slot += 1
            left -= int(playing[slot])

        return play(
            job.policy,
            job.contender.order,
            part,
            ledger,
            reference=job.contender.reference,
            perturbation=perturbation,
            on_slot=after_slot,
        )

    if threads == 1:
        return [run(job) for job in jobs]
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(run, job) for job in jobs]
        try:
            for finished in wait(futures, return_when=FIRST_EXCEPTION).done:
                finished.result()
            return [future.result() for future in futures]
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
