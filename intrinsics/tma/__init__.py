"""Tensor maps: what may be asked of one, and what the driver refuses.

Here belongs what holds for a tensor map wherever it is made; arrays are made into one by
`nvgen.launching.tensor_map`.
"""
