"""`nvgen explain`: decodes packed fields, and explains layouts and rules by name.

Layer: nvgen.commands.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable

from intrinsics.findings import input_error
from intrinsics.lazy_dataclass import dataclass
from nvgen.commands.explanations import intrinsics, layouts, rules, tensor, warpgroup, words
from nvgen.commands.explanations.options import OPTIONS
from nvgen.commands.explanations.question import Fields, Question
from nvgen.commands.layouts.fragment_name import spelled
from nvgen.commands.layouts.fragment_options import FRAGMENT_OPTIONS
from nvgen.render import Printer


@dataclass(frozen=True, slots=True)
class _Subject:
    """One kind of value: its title, what explains it, and the options that it understands.

    `bits` is the width of a word; a value that is a name has none.  `values` are those that can be
    explained, in words.
    """

    title: str
    fields: Callable[[Question], Fields]
    bits: int = 0
    options: tuple[str, ...] = ()
    values: str = ""


_SUBJECTS = {
    "idesc": _Subject("instruction descriptor", words.idesc, 32, ("kind",)),
    "smem-desc": _Subject("shared memory descriptor of tcgen05", words.smem_desc, 64),
    "wgmma-desc": _Subject("shared memory descriptor of wgmma", words.wgmma_desc, 64),
    "ctrl": _Subject("control word of tcgen05.mma", words.ctrl, 32),
    "collector": _Subject("collector word of tcgen05.mma", words.collector, 32),
    "zero-mask": _Subject("zero-column mask", words.zero_mask, 64, ("m", "n")),
    "taddr": _Subject("tensor memory address", words.taddr, 32),
    "scale-id": _Subject("scale factor id", tensor.scale_id, 2, ("kind", "scale_vec", "k")),
    "metadata": _Subject("metadata of a sparse A", tensor.metadata, 32, ("kind",)),
    "layout": _Subject("data path layout", tensor.layout),
    "packing": _Subject("elements of type", tensor.packing, 0, ("kind",)),
    "swizzle": _Subject("swizzling mode", layouts.swizzle),
    "fragment": _Subject("registers of", layouts.fragment, 0, FRAGMENT_OPTIONS),
    "wgmma-fragment": _Subject("registers of wgmma", warpgroup.fragment),
    "intrinsic": _Subject(
        "intrinsic", intrinsics.intrinsic, values="one of those that `--signatures ll` lists"
    ),
    "rule": _Subject(
        "rule", rules.rule, values="the id of a rule, as findings give it; rules.md lists them"
    ),
}


def run(arguments: argparse.Namespace) -> int:
    """Explain one value."""
    subject = _SUBJECTS[arguments.what]
    _check_options(arguments, subject)
    word = _number(arguments.value, subject.bits) if subject.bits else 0
    text = spelled(arguments) if arguments.value is None else arguments.value
    value: int | str = word if subject.bits else text
    shown = f"{word:#0{subject.bits // 4 + 2}x}" if subject.bits else text
    try:
        fields = subject.fields(Question(arguments.what, text, word, arguments))
    except ValueError as error:
        got = f"{word:#x}" if subject.bits else text
        raise input_error(
            f"explain/{arguments.what}",
            str(error),
            got=got,
            expected=subject.values or subject.title,
        ) from None
    if arguments.format == "json":
        rows = [{"bits": bits, "field": name, "meaning": text} for bits, name, text in fields]
        print(json.dumps({"what": arguments.what, "value": value, "fields": rows}, indent=2))
        return 0
    printer = Printer(sys.stdout)
    printer.line([(f"{subject.title} {shown}", "bold")])
    width = max(len(name) for _, name, _ in fields)
    for bits, name, text in fields:
        printer.line([(f"  {bits:>7}", "blue"), (f"  {name:<{width}}  ", ""), (text, "green")])
    return 0


def _check_options(arguments: argparse.Namespace, subject: _Subject) -> None:
    for name in OPTIONS:
        if getattr(arguments, name) is not None and name not in subject.options:
            option = f"--{name.replace('_', '-')}"
            taken = " and ".join(f"--{o.replace('_', '-')}" for o in subject.options)
            raise input_error(
                "explain/option", f"explain {arguments.what} has no {option}", got=option,
                expected=taken or f"nvgen explain {arguments.what} VALUE",
                hint="leave it out",
            )  # fmt: skip


def _number(text: str, bits: int) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if 0 <= value < 1 << bits:
        return value
    raise input_error(
        "explain/value",
        f"no {bits}-bit number",
        got=text,
        expected=f"0 to {(1 << bits) - 1:#x}, as 193, 0xC1 or 0b11000001",
    )
