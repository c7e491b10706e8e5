"""What ptxas makes of tcgen05.ld.red.16x32bx2: a reduction for each half of the warp.

The manual leaves open whether the two threads that load a lane's two parts get one result.  The
machine code says it: two loads, each for 16 threads, write the same registers, and behind them
stands nothing that would compare numbers or bring them from one thread to another.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.oracle import ptxas
from tests.oracle.sass import find_nvdisasm, listing

KERNEL = """.version 8.8
.target sm_103a
.address_size 64
.visible .entry k(.param .u32 t, .param .u64 p) {{
    .reg .b32 %r<8>;
    .reg .f32 %f<2>;
    .reg .b64 %rd<2>;
    ld.param.u32 %r1, [t];
    ld.param.u64 %rd1, [p];
    tcgen05.ld.red.sync.aligned.{form} {{%r2, %r3, %r4, %r5}}, {result}, [%r1]{split};
    tcgen05.wait::ld.sync.aligned;
    st.global.v4.b32 [%rd1], {{%r2, %r3, %r4, %r5}};
    st.global.{type} [%rd1+16], {result};
    ret;
}}
"""


def mnemonics(form: str, split: str = "") -> list[str]:
    """The machine code of a kernel that loads and stores, up to its end."""
    is_float = form.endswith("f32")
    text = KERNEL.format(
        form=form,
        split=split,
        result="%f1" if is_float else "%r6",
        type="f32" if is_float else "b32",
    )
    with tempfile.TemporaryDirectory(prefix="oracle-") as folder:
        source, cubin = Path(folder, "m.ptx"), Path(folder, "m.cubin")
        source.write_text(text)
        command = [ptxas.find_ptxas(), "-arch=sm_103a", str(source), "-o", str(cubin)]
        subprocess.run(command, capture_output=True, timeout=120, check=True)
        found = list(listing(cubin.read_bytes()).mnemonics)
    return found[: found.index("EXIT")]


def kinds(form: str, split: str = "") -> list[str]:
    """The same without modifiers, and without what every kernel begins with."""
    return [m.split(".")[0] for m in mnemonics(form, split) if not m.startswith(("LDC", "NOP"))]


def needs_tools() -> None:
    if find_nvdisasm() is None or shutil.which(ptxas.find_ptxas()) is None:
        pytest.skip("needs ptxas and nvdisasm")


FORMS = ["min.u32", "max.s32", "min.f32", "max.abs.NaN.f32"]


@pytest.mark.turns(3)
@pytest.mark.parametrize("form", FORMS)
def test_each_half_of_the_warp_has_a_reduction_of_its_own(form: str):
    needs_tools()
    loads = [m for m in mnemonics(f"16x32bx2.x4.{form}", ", 16") if m.startswith("LDTM")]
    assert [m.split(".")[:3] for m in loads] == [
        ["LDTM", "STAT", "16dp32bit_t0_t15"],
        ["LDTM", "STAT", "16dp32bit_t16_t31"],
    ]


@pytest.mark.turns(6)
@pytest.mark.parametrize("form", FORMS)
def test_nothing_brings_the_two_results_together(form: str):
    """One more load than the whole lane needs, and no other instruction."""
    needs_tools()
    split, whole = kinds(f"16x32bx2.x4.{form}", ", 16"), kinds(f"32x32b.x4.{form}")
    assert sorted(split) == sorted([*whole, "LDTM"])
