"""The subjects of `nvgen explain`: packed words, rules, intrinsics, layouts."""
