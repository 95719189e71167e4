"""Behaviour cloning, PPO, checkpoints and export (torch)."""
