"""The controller: senses, decides, and steers packets through a switch or radios."""
