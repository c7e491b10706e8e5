"""asmprinter: how machine records become text, and back (PTX and MIR)."""
