"""The matrix multiplies of the samples, against numpy, in every shape and type that they take."""
