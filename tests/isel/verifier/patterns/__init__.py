"""The manual's canonical patterns of tcgen05, and each of their mutants, by rules and in runs."""
