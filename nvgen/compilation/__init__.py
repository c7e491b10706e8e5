"""What compiling is: a program is loaded, goes through every stage, is judged, and is at hand."""
