"""The walkthrough's spelling of tcgen05, run in the simulator: products are numpy's."""
