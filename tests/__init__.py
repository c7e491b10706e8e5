"""What nvgen is held to, by folder; each says in its `__init__.py` what it compares with what.

`intrinsics`, `asmprinter`, `isel` and `nvgen` are folders as in the project, with examples written
by hand from the manuals; `sim` is `nvgen/sim`, and `driver` is `nvgen/driver`.  `oracle`, `manual`,
`property`, `samples` and `corpora` compare with something outside: ptxas, LLVM, numpy, the manual's
sentences, the host's processor, kernels of other people.  `fuzz` and `mutation` ask how good all of
that is.  `benchmarks` is run by hand.  Modules without `test_` hold kernels, texts and references
that several tests share.
"""
