"""PTX text to machine records: scopes, declarations, operands, instructions."""
