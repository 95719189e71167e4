"""A real Open vSwitch between real packets and simulated primary users (docs/lab.md)."""
