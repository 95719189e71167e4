"""Where reports come from, one source a file."""
