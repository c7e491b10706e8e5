"""The backend verifier, level by level."""
