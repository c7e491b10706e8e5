"""The LLVM IR of every sample that the builder writes, kept in a file or compared with one.

    python tests/benchmarks/sample_ir.py before.json     # on the one tree
    python tests/benchmarks/sample_ir.py before.json     # on the other: says which differ

A change of the builder that leaves kernels alone leaves every byte alone.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:  # run as a script: the folder of this file comes first
    sys.path.insert(0, str(ROOT))


def texts() -> dict[str, str]:
    """LLVM IR by the sample's name; of the portable one for each target."""
    from tests.samples.modules import FILES, PORTABLE, sample

    portable = sample(PORTABLE)
    found = {path.stem: sample(path).build().llvm for path in FILES}
    return found | {f"{PORTABLE.stem} {t}": portable.build(t).llvm for t in portable.TARGETS}


def main() -> int:
    """Write the file where it is not there, else compare; 1 where something differs."""
    kept, now = Path(sys.argv[1]), texts()
    if not kept.exists():
        kept.write_text(json.dumps(now), encoding="utf-8")
        print(f"{len(now)} kernels kept in {kept}")
        return 0
    before = json.loads(kept.read_text(encoding="utf-8"))
    different = sorted(name for name in before if now.get(name) != before[name])
    print("\n".join(f"differs: {name}" for name in different) or f"{len(before)} kernels: the same")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
