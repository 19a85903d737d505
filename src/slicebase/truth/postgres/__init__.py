"""The truth in PostgreSQL: a server that many machines share."""
