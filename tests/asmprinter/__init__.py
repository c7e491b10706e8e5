"""PTX and MIR as text: examples, round trips of random modules, broken text and its place."""
