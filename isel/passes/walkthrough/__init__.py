"""Records of walkthroughs, which act for whole CTAs: inlined, checked and expanded."""
