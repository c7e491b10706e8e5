"""tcgen05 cell by cell: layouts by the manual's formulas, products by numpy."""
