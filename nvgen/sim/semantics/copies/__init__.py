"""Asynchronous copies without a tensor map: cp.async, bulk copies and reductions, st.async.

Here belongs what a thread begins and what ends later, with the groups that are waited for.
"""
