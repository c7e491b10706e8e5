"""PTX text of machine records: headers, statements, names, source lines."""
