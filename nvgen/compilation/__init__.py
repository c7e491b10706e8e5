"""Compilation: reading a program, running all stages, judging the result, and `Compiled`."""
