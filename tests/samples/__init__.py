"""The samples run, equal numpy, are clean, and their planted mistakes are found."""
