"""The simulator behind Gymnasium and PettingZoo."""
