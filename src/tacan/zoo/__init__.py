"""The frozen policies that ship."""
