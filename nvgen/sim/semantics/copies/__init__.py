"""Asynchronous copies without a tensor map: cp.async, bulk copies and reductions, st.async.

Their issue, their effects, and the groups that are waited for.
"""
