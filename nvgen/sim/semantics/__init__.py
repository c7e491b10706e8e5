"""What each row does when it runs: one function a row, found by the row's id.

A package for each chapter of instructions; `table` collects what they have under `SEMANTICS`.
"""
