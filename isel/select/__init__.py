"""The selection table: LLVM IR to machine records, in SSA form.

integers    of any width: arithmetic, comparison, intrinsics
floats      arithmetic, conversions, intrinsics
memory      accesses, addresses of elements, atomic operations, the stack
symbols     what a module defines: functions, variables, their names and parameters
intrinsics  those that rows spell, and those that are written out as statements
assembly    texts of PTX that become records
"""
