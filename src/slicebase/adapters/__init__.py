"""Memory for frameworks: each module implements an interface of one package, and needs the extra of the same name."""
