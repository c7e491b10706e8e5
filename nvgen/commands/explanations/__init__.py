"""What `nvgen explain` says of each kind of question: words, rules, intrinsics, layouts."""
