"""Happens-before between the warps of a cluster: one abstract execution, which the rules query.

Layer: isel.verifier.ordering.  Input: a kernel and the size of its block.  The kernel is executed
for what decides about order alone (`program`): integers, addresses, predicates, mbarriers and
barriers, with made-up arguments and unknown data (`execute`).  Every access to shared and tensor
memory is logged with the vector clocks of its thread (`run`); two accesses of which one writes and
that no clock orders are a race (`judgement`).  Records that no run executes are not judged.
"""
