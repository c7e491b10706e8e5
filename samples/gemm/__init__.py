"""The GEMMs for Hopper (sample 10) and Blackwell, and what is built on them."""
