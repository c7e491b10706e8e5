"""The semantics of rows: one function a row, found by the row's id.

A package for each chapter of instructions; `table` collects their `SEMANTICS`.
"""
