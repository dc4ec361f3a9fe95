"""The events of webhooks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Union

from .types import Raw, Violation


def _raw() -> Raw:
    return {}


@dataclass(frozen=True)
class BudgetPeriod:
    """The budget of a project, a key or a group and how much of it was used, in dollars."""

    limit: float
    used: float
    start: str | None
    """None for a budget that never resets."""
    end: str | None
    """The end, exclusive. None for a budget that never resets."""


@dataclass(frozen=True)
class BudgetNode:
    """A key, a group, or the deployment."""

    level: str
    """`key`, `group` or `deployment`."""
    id: str
    name: str


@dataclass(frozen=True)
class BudgetThreshold:
    """A project, a key or a group has used a large part of its budget."""

    project_id: str | None
    """None for a group and the deployment."""
    threshold_percent: int
    """80 or 100."""
    budget: BudgetPeriod
    node: BudgetNode | None = None
    """The key, the group or the deployment. None for a project."""
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


@dataclass(frozen=True)
class ViolationCreated:
    """A project has new violations."""

    project_id: str
    count: int
    """The number of new violations since the last delivery."""
    violation: Violation
    """The first one with the highest severity."""
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


@dataclass(frozen=True)
class Checkpoint:
    """A signed statement about a chain of events. docs/guides/compliance.md describes it."""

    project: str
    """The project's ID."""
    object: str
    """`directory` or `ledger`."""
    seq: int
    """The signed entry. The signature covers it and all entries before it."""
    hash: str
    """The entry's SHA-256 hash."""
    time: str
    reason: str
    """`daily`, `export` or `prune`."""
    key_id: str
    signature: str
    """Ed25519, in base64."""
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


@dataclass(frozen=True)
class BudgetThresholdEvent:
    """A project has used 80% or 100% of its budget. This event is sent once per period and threshold."""

    type: Literal["budget.threshold"]
    id: str
    """Repeated deliveries have the same ID."""
    timestamp: str
    data: BudgetThreshold
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


@dataclass(frozen=True)
class ViolationCreatedEvent:
    """A project has new violations. This event is sent at most once a minute."""

    type: Literal["violation.created"]
    id: str
    """Repeated deliveries have the same ID."""
    timestamp: str
    data: ViolationCreated
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


@dataclass(frozen=True)
class CheckpointEvent:
    """A new checkpoint of a project's compliance data."""

    type: Literal["compliance.checkpoint"]
    id: str
    """Repeated deliveries have the same ID."""
    timestamp: str
    data: Checkpoint
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


@dataclass(frozen=True)
class OtherEvent:
    """An event of a type that this version of the library does not know."""

    type: str
    id: str
    """Repeated deliveries have the same ID."""
    timestamp: str
    data: Raw
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


WebhookEvent = Union[BudgetThresholdEvent, ViolationCreatedEvent, CheckpointEvent, OtherEvent]
"""A webhook event. Use `isinstance` to find out which one."""
