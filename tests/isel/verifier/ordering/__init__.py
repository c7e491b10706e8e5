"""Rules about order between warps: pairs of accesses, with and without what orders them."""
