"""Rules about tensor memory: allocation, addresses, columns, lanes, collector buffers, scales."""
