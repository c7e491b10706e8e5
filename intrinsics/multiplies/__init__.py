"""Matrix multiplies as data: shapes, element types, atoms and tiles.

Here belongs which multiplies there are, by family; the instructions themselves are in `rows`, how
their matrices lie in `layouts`.
"""
