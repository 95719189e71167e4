"""Frozen policies replayed, judged packet by packet."""
