"""What is known of one warp's registers and of the branches it takes: abstract evaluation over
the control-flow graph."""
