"""asmprinter: how machine records become text, and back.

ptx            PTX text of records; `ptx.reading` makes records of it
mir            MIR text of records, and records of it
tile_words     whether a text has tile multiplies, or what becomes of them
tile_reader    tile multiplies from text
"""
