"""A kernel as machine code with its launch parameters: assembled, in files, and kept on disk."""
