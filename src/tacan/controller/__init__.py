"""From sensing to a switch."""
