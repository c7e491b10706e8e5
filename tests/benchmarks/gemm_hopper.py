"""samples/10_gemm_sm90.py beside cuBLAS on the GPU that is here, in one process.

    python tests/benchmarks/gemm_hopper.py [--json OUT] [--rounds N] [--only bf16|e4m3] [--cache F]

cuBLAS is what torch.matmul and torch._scaled_mm call; of the latter the faster of its two ways to
accumulate counts.  Inputs are random normal numbers.  Every product is compared with cuBLAS', in
fp8 with that of its fast way, which sums as we do: in the tensor core.

Each of the rounds, at least 50, times all contestants once, in random order: a CUDA graph of as
many launches as take about 4 ms (at least one, 40 at most) between two events.  The table has
medians, and the median of the ratios of each round, which drifting clocks do not touch.  L2 is as
the launch before left it, for all alike: nothing is flushed.  "overlapping" is the same kernel
launched so that it may begin before the launch before it has ended (programmatic dependent launch);
cuBLAS is launched as torch does it, without.

Configurations are what `choose` gives, or with --cache the fastest that `nvgen tune` has kept.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import random
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:  # run as a script: the folder of this file comes first
    sys.path.insert(0, str(ROOT))

SHAPES = (
    (1024, 1024, 1024),
    (2048, 2048, 2048),
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (16384, 16384, 8192),
    (8192, 8192, 1024),
    (4096, 4096, 16384),
)
SOME = 4e-3 * 7e14  # floating point operations of a graph's launches


def sample():
    path = ROOT / "samples" / "10_gemm_sm90.py"
    spec = importlib.util.spec_from_file_location("gemm_sm90", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def graph_of(launch: Callable[[object], None], count: int):
    """`count` launches as one CUDA graph."""
    import torch

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        launch(stream)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(count):
                launch(stream)
    return graph


def timed(graph, count: int) -> float:
    """Milliseconds of one launch."""
    import torch

    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    graph.replay()
    last.record()
    last.synchronize()
    return first.elapsed_time(last) / count


def contestants(gemm, shape: tuple[int, int, int], name: str, config, kernels):
    """Launches of cuBLAS and of ours, by name, and whether our product is right."""
    import torch

    from intrinsics.element import ElementType

    m, n, k = shape
    torch.manual_seed(0)
    dtype = ElementType(name)
    stored = torch.bfloat16 if name == "bf16" else torch.float8_e4m3fn
    a, b = (torch.randn(rows, k, device="cuda").to(stored) for rows in (m, n))
    theirs, ours = (torch.empty(m, n, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    one = torch.ones((), device="cuda")

    def scaled(fast: bool) -> Callable[[object], None]:
        return lambda stream: torch._scaled_mm(
            a, b.T, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=fast,
            out=theirs,
        )  # fmt: skip

    found = {}
    if name == "bf16":
        found["cuBLAS"] = lambda stream: torch.matmul(a, b.T, out=theirs)
    else:
        found |= {"cuBLAS, fast": scaled(True), "cuBLAS, exact": scaled(False)}
    for launch in found.values():
        launch(None)
    kernel = gemm.build(config, gemm.Kind(dtype))
    if (config, name) not in kernels:
        kernels[config, name] = kernel.compile(target=gemm.TARGET, opt=3).load()
    loaded = kernels[config, name]
    seen = (lambda x: x.view(torch.uint8)) if name != "bf16" else (lambda x: x)
    arguments = kernel.arguments((seen(a), seen(b), ours, m, n, k), {})
    multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count
    shape_ = {"grid": gemm.grid(config, m, n, multiprocessors), "cluster": config.ctas}
    for label, dependent in (("nvgen", False), ("nvgen, overlapping", True)):
        found[label] = lambda stream, dependent=dependent: loaded.launch(
            *arguments, **shape_, stream=stream, dependent=dependent
        )
    ours.zero_()
    found["nvgen"](None)
    next(iter(found.values()))(None)  # cuBLAS as it sums as fast as we do
    torch.cuda.synchronize()
    difference = (ours.float() - theirs.float()).abs().max() / theirs.float().abs().max()
    return found, difference.item()


def compared(gemm, shape, name: str, config, rounds: int, kernels) -> dict:
    """One row of the table."""
    launches, difference = contestants(gemm, shape, name, config, kernels)
    work = 2.0 * math.prod(shape)
    count = max(1, min(40, int(SOME / work)))
    graphs = {label: graph_of(launch, count) for label, launch in launches.items()}
    times: dict[str, list[float]] = {label: [] for label in graphs}
    for number in range(rounds + 3):
        order = list(graphs)
        random.shuffle(order)
        for label in order:
            took = timed(graphs[label], count)
            if number >= 3:
                times[label].append(took)
    speed = {label: work / statistics.median(took) / 1e9 for label, took in times.items()}
    libraries = [label for label in times if label.startswith("cuBLAS")]
    best = [min(step) for step in zip(*(times[label] for label in libraries), strict=True)]
    ratio = {
        label: statistics.median(b / t for b, t in zip(best, took, strict=True))
        for label, took in times.items()
        if label not in libraries
    }
    return {
        "shape": shape, "type": name, "config": str(config), "difference": difference,
        "launches": count, "rounds": rounds, "tflops": speed, "ratio": ratio,
    }  # fmt: skip


def tuned(gemm, cache: str | None, shape, name: str):
    """The fastest configuration that is kept, or the one that the sample chooses."""
    from intrinsics.element import ElementType

    plan = sys.modules[gemm.Config.__module__]
    best, found = math.inf, plan.choose(*shape, gemm.Kind(ElementType(name)))
    wanted = gemm.tuning(*shape, dtype=name).name
    for line in Path(cache).read_text().splitlines() if cache else ():
        trial = json.loads(line)
        if trial["problem"] == wanted and (trial["milliseconds"] or math.inf) < best:
            best, found = trial["milliseconds"], gemm.Config(**trial["config"])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json")
    parser.add_argument("--cache")
    parser.add_argument("--only", choices=("bf16", "e4m3"))
    parser.add_argument("--rounds", type=int, default=50)
    given = parser.parse_args()
    gemm, rows, kernels = sample(), [], {}
    for name in [given.only] if given.only else ["bf16", "e4m3"]:
        for shape in SHAPES:
            config = tuned(gemm, given.cache, shape, name)
            row = compared(gemm, shape, name, config, given.rounds, kernels)
            rows.append(row)
            speeds = "  ".join(f"{label} {speed:7.1f}" for label, speed in row["tflops"].items())
            ratios = "  ".join(f"{ratio:.3f}" for ratio in row["ratio"].values())
            size = "x".join(map(str, shape))
            print(
                f"{name} {size:<18} {speeds}  ratio {ratios}  off {row['difference']:.1e}",
                flush=True,
            )
        for label in rows[-1]["ratio"]:
            of = [row["ratio"][label] for row in rows if row["type"] == name]
            mean, least = statistics.geometric_mean(of), min(of)
            print(f"{name} {label}: geometric mean {mean:.3f}, least {least:.3f}")
    if given.json:
        Path(given.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
