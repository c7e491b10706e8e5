"""Faults in how records become text, and text becomes records; and in what is written beside."""

from __future__ import annotations

from tests.mutation.fault import Fault, Kind

# fmt: off
FAULTS = (
    Fault(
        "wgmma-type-order", Kind.PRINTED, "intrinsics/rows/wgmma.py",
        ".sync.aligned.shape{satfinite}.dtype.atype.btype",
        ".sync.aligned.shape{satfinite}.atype.btype.dtype",
        "types in another order",
        "tests/oracle/test_wgmma_names.py",
    ),
    Fault(
        "ld-width", Kind.PRINTED, "intrinsics/rows/tcgen05.py",
        'LD = Row(\n    "tcgen05.ld", ".sync.aligned.shape.num{.pack}.b32"',
        'LD = Row(\n    "tcgen05.ld", ".sync.aligned.shape.num{.pack}.b64"',
        "a wrong width in the printed name",
        "tests/oracle/test_ptx_text.py",
    ),
    Fault(
        "register-range", Kind.PRINTED, "asmprinter/ptx/names.py",
        "{_RANGE_OF[cls]}<{classes.count(cls) + 1}>;", "{_RANGE_OF[cls]}<{classes.count(cls)}>;",
        "the last register is not declared",
        "tests/asmprinter/test_ptx_printer.py",
    ),
    Fault(
        "float-literal-width", Kind.PRINTED, "asmprinter/ptx/statements.py",
        'return f"0f{number.bits:08X}"', 'return f"0f{number.bits:X}"',
        "a literal of less than eight digits",
        "tests/asmprinter/test_ptx_printer.py tests/asmprinter/test_round_trip.py",
    ),
    Fault(
        "printed-guard", Kind.PRINTED, "asmprinter/ptx/statements.py",
        'return f"@!{names.registers[mi.guard.reg]} {text}"',
        'return f"@{names.registers[mi.guard.reg]} {text}"',
        "the negation of a guard is lost",
        "tests/asmprinter/test_ptx_printer.py",
    ),
    Fault(
        "launch-directive", Kind.PRINTED, "asmprinter/ptx/headers.py",
        'yield f".minnctapersm {launch.minctasm}"', 'yield f".maxnctapersm {launch.minctasm}"',
        "another directive",
        "tests/asmprinter/test_ptx_directives.py tests/asmprinter/test_ptx_printer.py",
    ),
    Fault(
        "read-guard", Kind.READ, "asmprinter/ptx/reading/instructions.py",
        "return Not(reg) if negated else reg", "return reg",
        "the negation of a guard is not read",
        "tests/asmprinter/test_ptx_statements.py",
    ),
    Fault(
        "read-double", Kind.READ, "asmprinter/ptx/reading/tokens.py",
        "bits, type_ = int(text[2:], 16), ScalarType.F64",
        "bits, type_ = int(text[2:], 16), ScalarType.F32",
        "a literal of 64 bits taken for one of 32",
        "tests/asmprinter/test_ptx_modules.py tests/asmprinter/test_round_trip.py",
    ),
    Fault(
        "read-duplicate", Kind.READ, "asmprinter/ptx/reading/opcodes.py",
        "                problems.append(_duplicate(qualifier.name, token))\n",
        "                attributes[qualifier.name] = next("
        "v for v in qualifier.values if v.value == token)\n",
        "a second modifier replaces the first",
        "tests/asmprinter/test_opcode_reader.py",
    ),
    Fault(
        "read-order", Kind.READ, "asmprinter/ptx/reading/opcodes.py",
        '    CopyFormat: "formats",\n', "",
        "the two formats of a copy as one qualifier",
        "tests/asmprinter/test_opcode_reader.py",
    ),
    Fault(
        "mir-guard", Kind.READ, "asmprinter/mir/records.py",
        "return Not(reg) if negated else reg", "return reg",
        "the negation of a guard is not read from MIR",
        "tests/asmprinter/test_mir_text.py",
    ),
    Fault(
        "comment-lines", Kind.PLACE, "asmprinter/ptx/source.py",
        r'''re.sub(r"[^\n]", " ",''', r'''re.sub(r"(?s).", " ",''',
        "lines behind a block comment count too low",
        "tests/asmprinter/test_ptx_modules.py tests/asmprinter/test_text_freedom.py",
    ),
    Fault(
        "plain-line", Kind.PLACE, "isel/places/lines.py",
        'for number, line in enumerate(text.split("\\n"), 1):',
        'for number, line in enumerate(text.split("\\n"), 0):',
        "findings one line too high",
        "tests/isel/llvm/test_places.py",
    ),
    Fault(
        "renamed-call", Kind.PLACE, "isel/places/align.py",
        "if following is not None and _same(following, printed[len(aligned)]):",
        "if following is not None and aligned:",
        "what LLVM makes of one call moves all places behind it",
        "tests/isel/llvm/test_places.py",
    ),
    Fault(
        "python-line", Kind.PLACE, "asmprinter/ptx/reading/report.py",
        'location.python_file, location.python_line = self.files.get(file, ""), line',
        'location.python_file, location.python_line = self.files.get(file, ""), file',
        "the number of the file in place of the line",
        "tests/asmprinter/test_ptx_directives.py",
    ),
    Fault(
        "stale-page", Kind.DOCUMENT, "intrinsics/reference/wgmma.md",
        "Made from the rows by `make docs`; do not edit.", "Made from the rows.",
        "a reference page that was edited by hand",
        "tests/isel/test_reference.py",
    ),
    Fault(
        "check-status", Kind.TOOL, "nvgen/commands/check.py",
        "    if not readable:\n        return 2\n", "    if not readable:\n        return 1\n",
        "an unreadable file looks like a wrong program",
        "tests/nvgen/commands/test_cli_check.py",
    ),
    Fault(
        "strict-status", Kind.TOOL, "nvgen/commands/check.py",
        "return strict and any(f.severity is Severity.REVIEW for f in findings)",
        "return strict and any(f.severity is Severity.WARNING for f in findings)",
        "--strict asks for another severity",
        "tests/nvgen/commands/test_cli_check.py",
    ),
    Fault(
        "deadlock-status", Kind.TOOL, "nvgen/commands/run.py",
        "OK, FINDING, USAGE, DEADLOCK, NOT_SIMULATED = 0, 1, 2, 3, 4",
        "OK, FINDING, USAGE, DEADLOCK, NOT_SIMULATED = 0, 1, 2, 4, 3",
        "two exit statuses exchanged",
        "tests/nvgen/commands/test_cli_run.py",
    ),
    Fault(
        "half-written-file", Kind.TOOL, "nvgen/files.py",
        "_replace(os.path.realpath(path), data)", "_write_device(path, data)",
        "an output is written in place, and may be half there",
        "tests/nvgen/test_files.py",
    ),
)
# fmt: on
