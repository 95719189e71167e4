"""The simulated world and how it is played, slot by slot."""
