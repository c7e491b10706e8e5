"""Rules about which threads execute an instruction together, and the registers they have."""
