"""MIR text: machine records as people read them, and read back."""
