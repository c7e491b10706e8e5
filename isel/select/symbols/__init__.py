"""Definitions of a module: functions and their parameters, variables, names, launch attributes."""
