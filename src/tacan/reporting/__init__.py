"""Saved records become tables, figures and a report."""
