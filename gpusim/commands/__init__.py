"""What each command of the command line does: one call after another into the rooms, and the answer on stdout."""
