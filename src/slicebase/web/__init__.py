"""The web application: pages to look at memory with, and the HTTP API behind them."""
