"""nvgen beside tools that know nothing of it: ptxas' verdicts, LLVM's text, host and numpy."""
