"""The bell and the timetable. Rows are the ledger: losing the engine loses nothing."""
