"""Sentences of the PTX ISA's tcgen05 chapter, by section: something clean, and a mistake."""
