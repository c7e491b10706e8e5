"""What a user touches: API, command line, builder, launches, documents; numbers are numpy's."""
