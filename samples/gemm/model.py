"""Which configuration of the Hopper GEMM is the fastest: a model of the time that each takes.

A product is waves of tiles, one for each CTA that the GPU holds at once.  A wave takes the time of
all steps of K of a tile, or that of HBM with what it reads.  A step takes as long as the unit that
bounds it: the tensor cores, the shared memory that copies write and these read, what a TPC is
brought, or L2 for all CTAs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from gemm.candidates import configurations, serves
from gemm.plan import BF16, ROW, ROWS, Config, Kind
from nvgen import Major


@dataclass(frozen=True, slots=True)
class Machine:
    """What the model knows of a GPU: rates in bytes or cycles per microsecond, times in µs.

    Fitted to some 20,000 timings of 2,000 products on an H200 (24 to 30 November 2026); `beyond`,
    and what launches of few rows of A cost that fill half of the GPU or a little more, to pairs of
    timings in which the choices of two models differed; `ragged` and `uneven` to those of 279
    products with such rows or an MN-major operand.  Of an H100 no more is known than its
    memory's rate.
    """

    at_once: tuple[int, ...] = (0, 132, 66, 39, 30, 22, 17, 15, 15)  # clusters of so many CTAs
    memory: float = 3.0e6  # from HBM
    held: float = 30e6  # bytes of A and B that are found in L2 by the next wave
    drift: float = 0.204  # the part of B that each further column or row of tiles reads anew
    far: float = 32768.0  # bytes of a row of B from which on this is so
    cache: float = 14.5e6  # from L2 to all shared memories
    neighbour: float = 0.6  # the part of B's rows that L2 reads once for two CTAs
    beyond: float = 3.4  # times a row of a matrix, what a row beyond its edge costs L2
    port: float = 226e3  # into one shared memory
    tpc: float = 240e3  # into the two of a TPC, once what both ask for; twice a pair's multicast
    ragged: float = 2.7  # times that, of rows in memory that are no multiple of 128 bytes,
    uneven: float = 3.8  # and of those that are no multiple of 32
    latency: float = 1.4  # of a copy, for which the ring has buffers
    clock: float = 1633.0  # cycles of a multiprocessor
    write: float = 0.08  # cycles of shared memory for 128 bytes that a copy writes
    gap: float = 0.25  # cycles behind a multiply
    pause: float = 2.16  # cycles behind a step
    begin: float = 1.97  # of a launch
    together: float = 0.49  # of a launch of clusters, more
    turn: float = 0.0274  # of a step, whatever is in it
    shown: float = 0.59  # the part of a step's shortest time that the others do not hide
    tile: float = 0.384  # of a tile, from its last multiply on
    store: float = 269e3  # sums, to D
    turned: float = 2.12  # times that, for a D that is stored transposed
    piece: float = 0.058  # of each piece that a warp stores
    issue: float = 0.091  # of each that a multiprocessor stores, while it multiplies other tiles
    meet: float = 0.105  # of a tile that is split
    send: float = 30.0e3  # sums, from a CTA to others
    leave: float = 1.1  # of a tile whose parts meet in L2,
    leave_few: float = 2.96  # and where one tile has all rows of A
    back: float = 43e3  # sums, through L2 to who adds them up
    multicast: float = 0.0085  # of a step, more, where CTAs share an operand
    both: float = 1.11  # times several waves, where CTAs share an operand and others their tile
    beside: float = 0.277  # the part of a wave's shorter time, of multiplying or of HBM, that shows
    crowd: float = 0.047  # the part of a step's shorter time, of a CTA or of L2 for all, that shows
    odd: float = 1.005  # times a multiply whose columns are no multiple of 16
    heat: float = 0.1  # by how much a launch slows down, for each factor of e beyond 300 µs
    wide: float = 0.008  # by how much long launches are slower of tiles that are 64 columns wider
    alone: float = 0.02  # and of warpgroups in turn, where no CTAs share an operand or a tile
    hidden: float = 0.8  # the part of `multicast` that multiplies of 128 x 128 and more hide
    exits: float = 0.2  # that a launch begins earlier, where it does when the one before exits
    follow: float = 0.87  # where it overlaps with that
    asked: float = 0.45  # earlier still, where A has few rows: L2 is asked for B before
    spare: float = 12.3e6  # bytes that L2 gives in a microsecond in whatever order CTAs ask
    scatter: float = 3.93e-8  # times bytes beyond, by how much launches that overlap are slower
    apart: float = 60.0  # steps of K until CTAs are as far apart as they come

    def copied(self, lies: int) -> float:
        """How many times as long a copy of 128 bytes of a row takes, by how rows lie to lines."""
        return 1.0 if lies == ROW else self.ragged if lies >= SECTOR else self.uneven

    def longer(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """The time of two things that happen beside each other."""
        return np.maximum(one, other) + self.beside * np.minimum(one, other)


H100 = Machine()
H200 = Machine(memory=4.76e6)  # the same chip with faster memory


def machine_of(name: str) -> Machine:
    """What the model knows of a GPU with this name; of an unknown one that it is an H100."""
    return H200 if "H200" in name else H100


SECTOR = 32  # bytes that L2 gives at once

Lies = tuple[int, int]  # the largest powers of 2, up to 128, that divide bytes of rows of A and B

FEW = 128  # rows of A up to which B is most of what is read, and L2 may give its lines up first

OVERLAP = {64: 0.958, 128: 0.964, 192: 0.986, 256: 0.989}
"""Times the multiplies of tiles of so many rows, of which other warpgroups hide the gaps."""

IN_TURN = {64: 0.98, 128: 0.954}  # the same of warpgroups that have whole tiles in turn


@dataclass(frozen=True, slots=True)
class Fixed:
    """What no product changes: a column of each for all configurations, on a GPU, of rows of A and
    B that lie as they do (`lies`).  Times in µs.
    """

    at_once: np.ndarray  # clusters
    ctas: np.ndarray  # of these
    begin: np.ndarray
    tail: np.ndarray  # of a tile, behind its last multiply
    after: np.ndarray  # what of it no other warpgroup hides
    stores: np.ndarray  # of the tiles of a multiprocessor at least, where many follow one another
    meet: np.ndarray  # of each part of a tile that is cut along K
    low: np.ndarray  # of a step: the shorter time of multiplying and of what is brought
    high: np.ndarray  # and the longer one
    least: np.ndarray  # of a step, however little is in it
    common: np.ndarray  # of a step, more
    again: np.ndarray  # times more than one wave
    cache: np.ndarray  # of a step of each CTA that L2 serves
    near: np.ndarray  # what of it a neighbour has asked for
    beyond: np.ndarray  # more, for each row beyond an edge
    brought: np.ndarray  # of a step of the two CTAs of a TPC
    once: np.ndarray  # what of it comes once, where both have the same rows of B


@dataclass(frozen=True, slots=True)
class Product:
    """A product as configurations cut it: tiles down and across, waves and what is left of them."""

    size: tuple[int, int, int]
    machine: Machine
    fixed: Fixed
    row: float  # bytes of a row of A or B
    down: np.ndarray
    across: np.ndarray
    steps: np.ndarray  # of K
    cache: np.ndarray  # µs of a step of each CTA that L2 serves
    brought: np.ndarray  # µs of a step of the two CTAs of a TPC, where A has many rows

    @property
    def tiles(self) -> np.ndarray:
        """How many clusters' tiles there are."""
        return self.down * self.across

    def step(self, ctas: np.ndarray, resident: np.ndarray) -> np.ndarray:
        """Microseconds of a step of K of so many CTAs, some `resident` on a multiprocessor."""
        fixed, machine = self.fixed, self.machine
        sharing = np.minimum(np.ceil(np.maximum(ctas / machine.at_once[1], 1)), resident)
        step = np.maximum(fixed.high * sharing, machine.turn)
        step += machine.shown * np.minimum(fixed.low * sharing, machine.turn)
        step = np.maximum(step, fixed.least) + fixed.common
        step = np.maximum(step, np.where(ctas > machine.at_once[2], self.brought, 0))
        cache = ctas * self.cache
        return np.maximum(step, cache) + machine.crowd * np.minimum(step, cache)


class Table:
    """Configurations, and columns of their numbers: time is predicted for all at once."""

    def __init__(self, configs: Sequence[Config], kind: Kind) -> None:
        self.configs, self.kind = tuple(configs), kind
        names = (*(field.name for field in fields(Config)), "slice", "ctas")
        self.columns = {
            name: np.array([float(getattr(config, name)) for config in configs]) for name in names
        }
        self.columns["wide"] = np.array([float(config.wide(kind.out)) for config in configs])
        self.columns["pieces"] = np.array([config.pieces(kind.out) for config in configs])
        self.columns["team"] = np.array([config.team for config in configs])
        self.columns["overlap"] = np.array(
            [(IN_TURN if config.pingpong else OVERLAP)[config.m] for config in configs]
        )
        self.columns["high"] = self.columns["m"] * self.columns["cluster"]
        self.swap, self.pingpong = (self.columns[name] > 0 for name in ("swap", "pingpong"))
        self.alone = self.pingpong & (self.columns["ctas"] == 1)
        self.is_down = np.array([config.is_down for config in configs])
        self.large = (self.columns["m"] >= 128) & (self.columns["n"] >= 128)
        self._fixed: dict[tuple[Machine, Lies], Fixed] = {}

    def times(self, m: int, n: int, k: int, machine: Machine = H100) -> np.ndarray:
        """Microseconds of a product, for each configuration."""
        return self.waiting(self.cut(m, n, k, machine))

    def waiting(self, p: Product) -> np.ndarray:
        """The same: waves of tiles, each step of which one unit bounds.

        A split that leaves a CTA without a step takes for ever, and so do several narrow columns.
        """
        c, f, machine = self.columns, p.fixed, p.machine
        count, steps = p.tiles, np.ceil(p.steps / c["split"])
        full = np.floor(count / f.at_once)
        rest = count - full * f.at_once
        moved = self._moved(p) / count
        multiplies = steps * p.step(f.ctas, c["resident"])
        hidden = np.maximum(multiplies, (multiplies + f.tail) / 2)  # by the other's multiplies
        whole = np.maximum(np.where(self.pingpong, hidden, multiplies + f.after), f.stores)
        parts = np.minimum(c["tail"], p.steps)
        units = np.ceil(rest * parts / f.at_once)
        clusters = np.where(parts > 1, f.at_once, rest)
        step = p.step(clusters * c["ctas"], c["resident"])
        left = units * (np.ceil(steps / parts) * step + f.after)
        is_one = np.where(self.swap, p.across, p.down) == 1
        leave = np.where(is_one, machine.leave_few, machine.leave)
        meet = np.where(parts > 1, leave + f.meet * parts, 0)
        left = machine.longer(left + meet, moved * rest)
        stalls = np.where(c["overlay"] > 0, f.after, 0)  # what others send lies in the ring
        wave = stalls + machine.longer(whole - stalls, moved * f.at_once)
        found = f.begin + f.tail + full * wave
        found += np.where(rest > 0, left, 0)
        found *= np.where(count > f.at_once, f.again, 1)
        found *= 1 + machine.heat * np.minimum(np.log(np.maximum(found / 300, 1)), 2.5)
        long = np.clip(np.log(np.maximum(found / 150, 1)), 0, 1)
        found *= 1 + long * (machine.wide * (c["n"] - 192) / 64 + machine.alone * self.alone)
        narrow = (c["n"] < 64) & (p.across > 1)  # they would read x again and again
        return np.where((p.steps < c["split"]) | narrow, math.inf, found)

    def overlapping(self, p: Product, times: np.ndarray) -> np.ndarray:
        """The same of launches that overlap with those before them, by `times` of those that wait.

        They begin earlier; but CTAs go where there is room: neighbours, which read the same, share
        a pair of multiprocessors no more.  Clusters that share an operand gain nothing by it where
        A has more than few rows.
        """
        if p.size[0] > FEW:
            alone = times * (1 + self._slower(p, times)) - p.machine.follow
            return np.where(self.columns["cluster"] > 1, times, alone)
        return times * (1 + self._slower_of_few(p)) - p.machine.follow - p.machine.asked

    def _slower(self, p: Product, times: np.ndarray) -> np.ndarray:
        """By how much they are slower: neighbours' reads are one no more, which shows where CTAs
        ask for more than L2 has to spare, and HBM is busy."""
        c, fixed, machine = self.columns, p.fixed, p.machine
        clusters = np.where(c["tail"] > 1, fixed.at_once, np.minimum(p.tiles, fixed.at_once))
        ctas = clusters * c["ctas"]
        asked = ctas * (c["m"] + c["n"]) * ROW * c["depth"] / p.step(ctas, c["resident"])
        m, n, _ = p.size
        busy = (m + n) * p.row / machine.memory / times
        scattered = np.maximum(asked - machine.spare, 0) * np.sqrt(busy) * (p.down > 1)
        waves = np.ceil(p.tiles / fixed.at_once)
        scattered *= np.minimum(waves * p.steps / c["split"] / machine.apart, 1)
        scattered *= np.where(c["ctas"] > 1, 0.14, 1)  # a cluster's are neighbours
        return machine.scatter * scattered * np.where(waves > 1, 0.64, 1)

    def _slower_of_few(self, p: Product) -> np.ndarray:
        """The same of few rows of A: where a wave does not fill the GPU, or CTAs of one read the
        same of A and of B.  Two launches that fill a little more than half of it each, or two waves
        but for a quarter of it, wait for each other's last CTAs.
        """
        c = self.columns
        alone = c["split"] * c["tail"] == 1
        part = p.tiles * np.where(c["tail"] > 1, c["tail"], 1) / p.fixed.at_once
        both = (part <= 1) & (p.down > 1) & (p.across > 1)
        slower = np.where(part < 0.95, 0.02 + 0.04 * alone, 0.1 * both)
        slower = slower + np.where((part > 0.5) & (part < 0.75), 0.08 + 0.04 * alone, 0)
        return slower + np.where(alone & (part > 1.6) & (part < 1.9), 0.04, 0)

    def cut(self, m: int, n: int, k: int, machine: Machine = H100) -> Product:
        """A product, cut by each configuration."""
        c, row = self.columns, k * self.kind.dtype.bits / 8
        fixed = self.fixed(machine, self.lies(m, n, k))
        high, wide = np.where(self.swap, n, m), np.where(self.swap, m, n)
        down, across = np.ceil(high / c["high"]), np.ceil(wide / c["n"])
        below = down * c["high"] - high  # or the last tile begins earlier, by 16 rows
        below = np.where(high < c["m"], below, below - 16 * np.floor(below / 16))
        right = across * c["n"] - wide
        more = right - c["wide"] * np.floor(right / c["wide"])
        right = np.where(wide < c["n"], right, more)
        beyond = (below / down + right / across) / c["cluster"]  # of a CTA's tiles, in the mean
        along = np.where(self.is_down, down, across)  # tiles with the same rows of B
        cache = fixed.cache - np.where(along > 1, fixed.near, 0) + fixed.beyond * beyond
        twins = 1 - along % 2 / along  # the part of all pairs of neighbours that are such tiles
        brought = fixed.brought - twins * fixed.once if m > FEW else np.zeros_like(cache)
        steps = np.ceil(row / (ROW * c["depth"]))
        return Product((m, n, k), machine, fixed, row, down, across, steps, cache, brought)

    def lies(self, m: int, n: int, k: int) -> Lies:
        """Of A and of B how bytes of a row in memory lie to lines of L2, which have 128, in 32."""
        kind = self.kind
        rows = [k if kind.a_major is Major.K else m, k if kind.b_major is Major.K else n]
        a, b = (math.gcd(row * kind.dtype.bits // 8, ROW) for row in rows)
        return a, b

    def fixed(self, machine: Machine, lies: Lies) -> Fixed:
        """What is known before the product is, kept for the next one."""
        found = self._fixed.get((machine, lies))
        if found is None:
            found = self._fixed[machine, lies] = self._of_any(machine, lies)
        return found

    def _of_any(self, machine: Machine, lies: Lies) -> Fixed:
        c = self.columns
        at_once = np.array(machine.at_once)[c["ctas"].astype(int)] * c["resident"]
        turned = np.where(self.swap, machine.turned, 1)
        tail = machine.tile + c["m"] * c["slice"] * 2 / machine.store * turned
        tail = tail + machine.piece * c["pieces"]
        sent = np.where(c["overlay"] > 0, 1 - 1 / c["split"], 1)  # nothing to itself
        split = machine.meet + c["m"] * c["n"] * 4 / machine.send * sent
        tail = tail + np.where(c["split"] > 1, split, 0)
        instructions = c["m"] / ROWS * 4 * c["depth"]
        longer = c["overlap"] * np.where(c["n"] % 16 > 0, machine.odd, 1)
        cycles = instructions * longer * (c["n"] / 2 + machine.gap) + machine.pause
        multiply = cycles / machine.clock
        written = machine.write * (c["m"] + c["n"]) * c["depth"]
        shared = (instructions * (16 + c["n"] / 4) + written) / machine.clock
        span = ROW * c["depth"]
        of_b = np.where(self.swap, c["m"], c["n"])
        a, b = (machine.copied(x) for x in lies)
        rows = c["m"] * np.where(self.swap, b, a)
        rows = rows + c["n"] / np.sqrt(c["cluster"]) * np.where(self.swap, a, b)
        brought = np.maximum(rows * span / machine.port, shared)
        both = 2 * (c["m"] + c["n"]) - np.where(c["cluster"] > 2, c["n"], 0)  # not of a pair
        multicast = machine.multicast * np.where(self.large, 1 - machine.hidden, 1)
        stores = 4 * c["team"] * c["pieces"]
        return Fixed(
            at_once=at_once,
            ctas=at_once * c["ctas"],
            begin=machine.begin + np.where(c["ctas"] > 1, machine.together, 0),
            tail=tail,
            after=tail + np.where(c["overlay"] > 0, machine.latency, 0),
            stores=c["resident"] * stores * machine.issue,
            meet=c["m"] * c["n"] * 4 / machine.back,
            low=np.minimum(multiply, brought),
            high=np.maximum(multiply, brought),
            least=machine.latency / c["stages"],
            common=np.where(c["cluster"] > 1, multicast, 0),
            again=np.where((c["cluster"] > 1) & (c["split"] > 1), machine.both, 1),
            cache=(c["m"] + c["n"] / c["cluster"]) * span / machine.cache,
            near=np.where(c["ctas"] == 1, machine.neighbour, 0) * of_b * span / machine.cache,
            beyond=(machine.beyond - 1) * ROW * c["depth"] / machine.cache,
            brought=both * span / machine.tpc,
            once=np.where(c["ctas"] == 1, of_b, 0) * span / machine.tpc,
        )

    def _moved(self, p: Product) -> np.ndarray:
        """Microseconds of the bytes that HBM moves: each wave's anew where L2 does not hold all."""
        c, machine, (m, n, _) = self.columns, p.machine, p.size
        stored, least = m * n * self.kind.out.bits / 8, (m + n) * p.row
        if least + stored <= machine.held:
            return (least + stored) / machine.memory
        few, many = self._turned(p.down, p.across)
        few = np.ceil(few / np.maximum(np.floor(few / c["group"] + 0.5), 1))
        many = np.minimum(np.ceil(p.fixed.at_once / few), many)
        high, wide = self._turned(few, many)
        wave = (high * c["high"] + wide * c["n"]) * p.row
        again = np.maximum(least, p.tiles / p.fixed.at_once * wave)
        if n * p.row > machine.held:  # CTAs that read the same of B drift apart where K is long
            times = np.minimum(np.where(self.swap, p.across, p.down), 4) - 1
            again = again + times * n * p.row * min(p.row / machine.far, 1) * machine.drift
        return (again + stored) / machine.memory

    def _turned(self, one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both, or where tiles do not follow one another down the other one first."""
        return np.where(self.is_down, one, other), np.where(self.is_down, other, one)


@functools.cache
def candidates(kind: Kind = BF16, *, few: bool | None = None) -> Table:
    """All configurations that are worth a thought, or those for few rows of A, or for more."""
    found = configurations(kind)
    return Table([c for c in found if few is None or serves(c, few=few)], kind)


def as_it_is(config: Config) -> float:
    """Times the plain product's time, what the plain product takes."""
    return 1.0


@functools.lru_cache(4096)
def plan(
    m: int, n: int, k: int, kind: Kind = BF16, machine: Machine = H100,
    slower: Callable[[Config], float] = as_it_is,
) -> Config:  # fmt: skip
    """The configuration that the model thinks the fastest.

    `slower` says how many times the plain product's time a configuration takes: of impossible ones
    infinitely many.
    """
    table = candidates(kind, few=m <= FEW)
    return launched(table, int(launches(table, m, n, k, machine, slower).argmin()), m)


def launches(
    table: Table, m: int, n: int, k: int, machine: Machine = H100,
    slower: Callable[[Config], float] = as_it_is,
) -> np.ndarray:  # fmt: skip
    """Microseconds of launches that begin when the one before exits, and of those that overlap with
    it: two rows, of each configuration a column.
    """
    product = table.cut(m, n, k, machine)
    times = table.waiting(product) * factors(table, slower)
    return np.stack((times - machine.exits, table.overlapping(product, times)))


def launched(table: Table, number: int, m: int) -> Config:
    """A configuration by its number in the rows of `launches`, with what the launch says of it."""
    early, index = divmod(number, len(table.configs))
    config = table.configs[index]
    return replace(config, once=reads_once(config, m), early=bool(early))


def reads_once(config: Config, m: int) -> bool:
    """Whether A has few rows, all in one tile, or in those of a cluster: B is not read again."""
    return m <= FEW and m <= (config.n if config.swap else config.m * config.cluster)


@functools.cache
def factors(table: Table, slower: Callable[[Config], float]) -> np.ndarray:
    """What `slower` says of each configuration."""
    return np.array([slower(config) for config in table.configs])
