"""Kernels of other compilers on a GPU: nvgen's code beside LLVM's, their bytes and their time.

`launches` is how a kernel is launched and on what, `building` makes both compilers' machine code,
`gpu` runs it, `differences` compares, `report` says what came of it; all of it is
`python -m tests.benchmarks.beside_llvm`.
"""
