"""Multiplies of a warpgroup, in flight until they are waited for (sm_90a).

Here belongs wgmma alone: issue, groups, what is read and written, sparse A.
"""
