"""The rules: each has its words, ptxas agrees about single records, right neighbours are clean."""
