"""tcgen05 (sm_100 and later): allocation, copies, loads and stores, multiplies, commits."""
