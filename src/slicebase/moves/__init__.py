"""Moves a workspace: backups and what they restore, and exports in open formats with their imports."""
