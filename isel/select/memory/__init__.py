"""Accesses to memory, addresses of elements, atomic operations and the stack to records."""
