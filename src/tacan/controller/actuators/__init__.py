"""What carries assignments out, one adapter a file."""
