"""intrinsics: what the machine is, as data.

On top stands what everything speaks: rows and their catalog, modifiers, targets, machine records,
findings.  Rooms: `rows`, a file for each chapter of instructions; `layouts`, where elements lie;
`descriptors`, packed fields; `multiplies`, the families of matrix multiplies; `tma`, tensor maps;
`reference`, the pages that are made of all this.
"""
