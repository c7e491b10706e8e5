"""Bulk and tensor copies, against loops over the elements in numpy."""
