"""What ranks channels, and how ranks become assignments."""
