"""Texts of PTX that become records: inline and module-level assembly, nvgen's own statements."""
