"""Imports conversations from exports and live transcripts into the truth, with an account of every record."""
