"""LLVM's optimiser, kept off what it does not understand: the shield, the pipeline, the places."""
