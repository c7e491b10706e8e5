"""The instruction rows: one per PTX instruction family, in the manual's notation, by chapter."""
