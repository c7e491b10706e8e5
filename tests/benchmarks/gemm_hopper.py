"""samples/10_gemm_sm90.py beside cuBLAS on the GPU that is here, in one process.

    python tests/benchmarks/gemm_hopper.py [--draw 200] [--seed N] [--rounds N] [--json OUT]
                                           [--only bf16|e4m3] [--limit SECONDS]

Without --draw it takes the large shapes that docs/hopper-gemm.md has a table of; with it so many
shapes as language models have them, by a seed, which is the day's number unless it is given.

cuBLAS is what torch.matmul and torch.addmm call through cuBLAS and cuBLASLt, and torch._scaled_mm
with its two ways to accumulate: of all ways the fastest of each round counts.  Inputs are random
normal numbers.  Every product is compared with cuBLAS', in fp8 with that of its fast way, which
sums as we do: in the tensor core.

Each round times all contestants once, in random order: a CUDA graph of several launches between
two events.  The launches take turns over as many operands as L2 does not hold, so that weights
come from memory, as they do in a model; D is written anew.  Ratios are medians of the ratios of
each round, which drifting clocks do not touch.  "waiting" launches begin when the launch before has
ended, as cuBLAS' do, which torch launches so; "nvgen" is what the model chooses, in dependent
launches (programmatic dependent launch), which overlap where it thinks that faster, or begin when
the launch before exits.  Beside the large shapes the
fastest of cuBLAS' ways stands once more as "control": what it falls short of 1 is what the fastest
of several gains by noise.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import math
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "samples"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # as a script: before its own folder

from gemm.model import Machine, candidates, machine_of, plan
from gemm.plan import Config, Kind, grid, workspace

from intrinsics.element import ElementType
from nvgen import CodeCache
from tests.benchmarks.gemm_shapes import Shape, drawn

ROOT = Path(__file__).resolve().parents[2]
LARGE = (
    (1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192),
    (16384, 16384, 8192), (8192, 8192, 1024), (4096, 4096, 16384),
)  # fmt: skip
SOME = 4e-4  # seconds of a graph's launches, about
RATE = 7e14  # floating point operations in a second, about
MEMORY = 4e12  # bytes in a second, about
UNCACHED = 200e6  # bytes of all operands together that L2 does not hold
CONTROL = "control"
DECODING = 128  # rows of A up to which a product is one of decoding

Launch = Callable[[object], None]


def sample():
    if "gemm_sm90" not in sys.modules:
        path = ROOT / "samples" / "10_gemm_sm90.py"
        spec = importlib.util.spec_from_file_location("gemm_sm90", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    return sys.modules["gemm_sm90"]


def kind_of(shape: Shape) -> Kind:
    dtype = ElementType(shape.dtype)
    return Kind(dtype, ElementType.F16 if dtype is ElementType.F16 else ElementType.BF16)


Way = tuple[Config, bool]  # a configuration, and whether launches are dependent


def ways(shape: Shape, machine: Machine) -> dict[str, Way]:
    """What is timed of ours."""
    size, kind = (shape.m, shape.n, shape.k), kind_of(shape)
    chosen, table = plan(*size, kind, machine), candidates(kind)
    waits = table.configs[table.times(*size, machine).argmin()]
    return {"nvgen": (chosen, True), "waiting": (replace(waits, once=chosen.once), False)}


def gpu() -> str:
    """The name of the GPU; in a process of a pool, since this one forks."""
    import torch

    return torch.cuda.get_device_name(0)


def compiled(asked: tuple[Config, Kind]):
    """A kernel and its machine code; in a process of a pool."""
    config, kind = asked
    kernel = sample().build(config, kind)
    return asked, kernel, CodeCache(judged=False).code(kernel, sample().TARGET, 3)


def graph_of(launches: Sequence[Launch]):
    """Launches as one CUDA graph."""
    import torch

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        launches[0](stream)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for launch in launches:
                launch(stream)
    return graph


def timed(graph, count: int) -> float:
    """Microseconds of one launch."""
    import torch

    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    graph.replay()
    last.record()
    last.synchronize()
    return first.elapsed_time(last) * 1e3 / count


def in_turn(graphs: dict[str, object], count: int, rounds: int) -> dict[str, list[float]]:
    """Microseconds of one launch of each, for each round but two before, in random order."""
    times: dict[str, list[float]] = {label: [] for label in graphs}
    for number in range(rounds + 2):
        for label in random.sample(list(graphs), len(graphs)):
            took = timed(graphs[label], count)
            if number >= 2:
                times[label].append(took)
    return times


def libraries(shape: Shape, a, b, d) -> dict[str, tuple[str, Launch]]:
    """cuBLAS' ways: the library that torch is to prefer, and a launch."""
    import torch

    if shape.dtype != "e4m3":
        zero = torch.zeros((), device="cuda", dtype=d.dtype)
        return {
            "cuBLAS": ("cublas", lambda stream: torch.matmul(a, b.T, out=d)),
            "cuBLASLt": ("cublaslt", lambda stream: torch.addmm(zero, a, b.T, beta=0, out=d)),
        }
    one = torch.ones((), device="cuda")

    def scaled(fast: bool) -> Launch:
        return lambda stream: torch._scaled_mm(
            a, b.T, scale_a=one, scale_b=one, out_dtype=d.dtype, use_fast_accum=fast, out=d
        )

    return {"cuBLAS, fast": ("cublas", scaled(True)), "cuBLAS, exact": ("cublas", scaled(False))}


def started(code, arguments, place: dict[str, int], dependent: bool, stream) -> None:
    """Launch a kernel of ours."""
    code.launch(*arguments, **place, stream=stream, dependent=dependent)


@dataclass(frozen=True, slots=True)
class Contest:
    """Graphs by name, the launches of each, how far our products are from cuBLAS'.

    `kept` are the tensors that the graphs point to.
    """

    graphs: dict[str, object]
    launches: int
    off: float
    kept: list[object]


def places(shape: Shape, config: Config) -> tuple[dict[str, int], list]:
    """How a configuration is launched, and what its arguments have behind the sizes."""
    import torch

    processors = torch.cuda.get_device_properties(0).multi_processor_count
    place = {"grid": grid(config, shape.m, shape.n, processors), "cluster": config.ctas}
    if config.tail == 1:
        return place, []
    sums, words = workspace(config, shape.m, shape.n, place["grid"])
    room = torch.empty(max(sums, 1), device="cuda", dtype=torch.float32)
    flags = torch.zeros(max(words, 1), device="cuda", dtype=torch.int32)
    return place, [room, flags.view(torch.uint32)]


def contestants(shape: Shape, chosen: dict[str, Way], made, control: bool) -> Contest:
    """Everything that is timed of a shape, run once and compared; cuBLAS' ways twice, if asked."""
    import torch

    torch.manual_seed(0)
    m, n, k = shape.m, shape.n, shape.k
    stored = {"bf16": torch.bfloat16, "f16": torch.float16}.get(shape.dtype, torch.float8_e4m3fn)
    out = torch.float16 if shape.dtype == "f16" else torch.bfloat16
    sets = max(1, min(16, math.ceil(UNCACHED / shape.moved)))
    expected = max(shape.work / RATE, shape.moved / MEMORY) + 5e-6
    count = sets * max(1, min(40 // sets, round(SOME / expected / sets)))
    given = {label: places(shape, config) for label, (config, _) in chosen.items()}
    found: dict[str, list[Launch]] = {}
    prefers, pairs, kept = {}, [], [given]
    for _ in range(sets):
        a, b = (torch.randn(rows, k, device="cuda").to(stored) for rows in (m, n))
        ours, theirs = (torch.full((m, n), math.nan, device="cuda", dtype=out) for _ in range(2))
        for label, (library, launch) in libraries(shape, a, b, theirs).items():
            for name in (label, label.replace("cuBLAS", CONTROL))[: 1 + control]:
                found.setdefault(name, []).append(launch)
                prefers[name] = library
        seen = [x.view(torch.uint8) if x.element_size() == 1 else x for x in (a, b)]
        for label, (config, dependent) in chosen.items():
            kernel, code = made[config, kind_of(shape)]
            place, more = given[label]
            arguments = kernel.arguments((*seen, ours, m, n, k, *more), {})
            found.setdefault(label, []).append(
                functools.partial(started, code, arguments, place, dependent)
            )
        pairs.append((ours, theirs))
        kept += [a, b]
    graphs = {}
    for label, launches in found.items():
        torch.backends.cuda.preferred_blas_library(prefers.get(label, "cublas"))
        graphs[label] = graph_of([*launches] * (count // sets))
    graphs[next(iter(graphs))].replay()  # cuBLAS as it sums as fast as we do
    off = max(farthest(graphs[label], pairs) for label in chosen)
    return Contest(graphs, count, off, [*kept, pairs, found])


def farthest(graph, pairs: list[tuple]) -> float:
    """How far our products are from cuBLAS', as parts of the largest element; far if none came."""
    import torch

    for ours, _ in pairs:
        ours.fill_(math.nan)
    graph.replay()
    torch.cuda.synchronize()
    apart = [((x.float() - y.float()).abs().max() / y.float().abs().max()).item() for x, y in pairs]
    return math.inf if any(map(math.isnan, apart)) else max(apart)


def compared(shape: Shape, chosen: dict[str, Way], made, rounds: int, control: bool) -> dict:
    """One row of the table; equal ways are timed once."""
    distinct = {way: label for label, way in reversed(chosen.items())}
    contest = contestants(shape, {label: way for way, label in distinct.items()}, made, control)
    times = in_turn(contest.graphs, contest.launches, rounds)
    best = [min(step) for step in zip(*(t for x, t in times.items() if "BLAS" in x), strict=True)]
    of = {label: times[distinct[way]] for label, way in chosen.items()}
    if control:
        of[CONTROL] = min((t for x, t in times.items() if CONTROL in x), key=statistics.median)
    ratio = {
        label: statistics.median(b / t for b, t in zip(best, took, strict=True))
        for label, took in of.items()
    }
    took = {label: statistics.median(x) for label, x in (times | of).items()}
    return {
        "shape": (shape.m, shape.n, shape.k), "type": shape.dtype,
        "config": {label: str(way) for label, way in chosen.items()},
        "off": contest.off, "launches": contest.launches, "ratio": ratio, "microseconds": took,
    }  # fmt: skip


def short(config: Config) -> str:
    """A configuration in a word."""
    swap, more = "t" if config.swap else "", {"k": config.split, "c": config.cluster}
    more |= {"d": config.depth, "r": config.resident, "e": config.tail}
    rest = "".join(f"{x}{n}" for x, n in more.items() if n > 1)
    return f"{swap}{config.m}x{config.n}{rest}p{config.stages}"


def line(shape: Shape, chosen: dict[str, Way], row: dict) -> str:
    """One row in words."""
    config, _ = chosen["nvgen"]
    took = row["microseconds"]["nvgen"]
    ratios = " ".join(f"{ratio:5.3f}" for ratio in row["ratio"].values())
    wrong = "" if row["off"] < 0.02 else f"  WRONG by {row['off']:.2g}"
    name = short(config) + "o" * config.early
    return (
        f"{shape.dtype:<4} {shape.m}x{shape.n}x{shape.k:<6} {name:<17} {took:8.1f} us "
        f"{shape.work / took / 1e6:5.0f} TF {shape.moved / took / 1e6:4.2f} TB/s  {ratios}{wrong}"
    )


def summary(name: str, rows: list[dict], label: str, memory: float) -> str:
    """What many rows say."""
    ratios = [row["ratio"][label] for row in rows]
    if not ratios:
        return f"{name}, {label}: none"
    shares = [
        Shape(*row["shape"], row["type"]).moved / row["microseconds"][label] / memory  # type: ignore[call-arg]
        for row in rows
    ]
    mean = statistics.geometric_mean(ratios)
    return (
        f"{name}, {label}: {len(ratios)} shapes, geometric mean {mean:.3f}, "
        f">= 0.97 {sum(r >= 0.97 for r in ratios) / len(ratios):.0%}, least {min(ratios):.3f}, "
        f"of what memory could move {statistics.mean(shares):.0%}"
    )


def bandwidth() -> float:
    """Bytes in a microsecond that memory could move: two at each cycle for 8 wires of its bus."""
    from cuda.bindings import driver

    wanted = driver.CUdevice_attribute
    _, clock = driver.cuDeviceGetAttribute(wanted.CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 0)  # kHz
    _, wires = driver.cuDeviceGetAttribute(wanted.CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 0)
    return 2 * clock * 1e3 * wires / 8 / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json")
    parser.add_argument("--only", choices=("bf16", "e4m3"))
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--seed", type=int, default=int(time.time() // 86400))
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--limit", type=float, default=math.inf)
    given = parser.parse_args()
    began, names = time.time(), [given.only] if given.only else ["bf16", "e4m3"]
    shapes = [Shape(*shape, name) for name in names for shape in LARGE]
    if given.draw:
        shapes = [s for s in drawn(given.seed, given.draw) if s.dtype == (given.only or s.dtype)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        machine = machine_of(pool.submit(gpu).result())
        chosen = {s: ways(s, machine) for s in shapes}
        asked = [*dict.fromkeys((c, kind_of(s)) for s in shapes for c, _ in chosen[s].values())]
        made = {what: (kernel, code) for what, kernel, code in pool.map(compiled, asked)}
    print(f"seed {given.seed}: {len(asked)} kernels in {time.time() - began:.1f} s", flush=True)
    import torch

    loaded = {what: (kernel, code.load()) for what, (kernel, code) in made.items()}
    memory, rows = bandwidth(), []
    print(f"{torch.cuda.get_device_name(0)}, memory {memory / 1e6:.2f} TB/s", flush=True)
    for shape in shapes:
        if time.time() - began > given.limit:
            print("no more time")
            break
        row = compared(shape, chosen[shape], loaded, given.rounds, not given.draw)
        rows.append(row)
        print(line(shape, chosen[shape], row), flush=True)
        torch.cuda.empty_cache()
    groups = {name: [r for r in rows if r["type"] == name] for name in ("bf16", "f16", "e4m3")}
    groups |= {"M <= 128": [r for r in rows if r["shape"][0] <= DECODING]}
    groups |= {"M > 128": [r for r in rows if r["shape"][0] > DECODING], "all": rows}
    for name, of in groups.items():
        for label in ("waiting", "nvgen", *([] if given.draw else [CONTROL])):
            print(summary(name, of, label, memory))
    if given.json:
        Path(given.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
