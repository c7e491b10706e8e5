"""What the machine is: invariants of every row, layouts and packed fields by the manual."""
