"""What each row does when it runs: one function a row, found by the row's id."""
