"""What a module defines: functions and their parameters, variables, names, how it is launched."""
