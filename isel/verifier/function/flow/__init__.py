"""Abstract evaluation of a warp's registers and branches over the control-flow graph."""
