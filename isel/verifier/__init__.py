"""The backend verifier: records, descriptors, functions, happens-before, launches."""
