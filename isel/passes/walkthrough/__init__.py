"""Records of walkthroughs, which speak for whole CTAs: inlined, checked, and made the machine's."""
