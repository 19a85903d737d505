"""The only code that touches disk or a database."""
