"""Layouts as other projects publish them, written down without a look at ours, and compared.

The modules without `test_` hold the facts, each with its sources; they import nothing of nvgen but
its vocabulary (enumerations).  The tests compare them with the library.
"""
