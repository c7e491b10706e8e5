"""Modifiers of instructions that a warp executes together, and of dependent grids.

Layer: intrinsics.  PTX ISA, shfl.sync; vote.sync; match.sync; redux.sync; griddepcontrol.
"""

from __future__ import annotations

from intrinsics.modifiers.kinds import Modifier


class Shuffle(Modifier):
    """The source lane of a shuffle: relative up or down, by exclusive or, or an index."""

    UP = "up"
    DOWN = "down"
    BFLY = "bfly"
    IDX = "idx"


class Vote(Modifier):
    """The result of a vote: ALL, ANY, UNI (equal in all), or BALLOT, a bit for each lane."""

    ALL = "all"
    ANY = "any"
    UNI = "uni"
    BALLOT = "ballot"


class WarpReduce(Modifier):
    """The reduction of a redux.sync."""

    ADD = "add"
    MIN = "min"
    MAX = "max"
    AND = "and"
    OR = "or"
    XOR = "xor"


class Magnitude(Modifier):
    """The reduction is of absolute values."""

    ABS = "abs"


class NanResult(Modifier):
    """A NaN among the inputs is the result."""

    NAN = "NaN"


class GridControl(Modifier):
    """Wait for the preceding grids, or let dependent grids launch."""

    LAUNCH_DEPENDENTS = "launch_dependents"
    WAIT = "wait"


class Match(Modifier):
    """Find the threads with the same value, or test whether all have the same."""

    ANY = "any"
    ALL = "all"
