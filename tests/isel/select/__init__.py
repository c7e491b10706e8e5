"""Which records an instruction becomes, and what is said when it becomes none, by the manual."""
