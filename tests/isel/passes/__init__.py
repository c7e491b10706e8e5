"""Passes over records: functions mean the same, by executing the records themselves."""
