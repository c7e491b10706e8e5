"""Matrix multiplies as data: element types, atoms and tiles, on top of the rows.

Here belongs what is multiplied with what, and by which instruction; how instructions are spelled is
in `modifiers` and `rows`, how their matrices lie in `layouts`.
"""
