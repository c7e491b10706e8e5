"""Control flow: branches, calls and returns, the stack, and functions that the driver brings.

Here belongs what moves the program counter of threads, or what they keep of their callers.
"""
