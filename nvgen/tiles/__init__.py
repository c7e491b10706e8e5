"""One tile multiply on any target: the atom that computes it, a kernel of it, and its story."""
