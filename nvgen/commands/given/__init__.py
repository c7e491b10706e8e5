"""Operands of the command line: files, functions, kernel arguments, launch sizes."""
