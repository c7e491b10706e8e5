"""Control flow: switches and addresses of blocks as branches; branches that known values decide."""
