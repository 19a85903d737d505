"""The YAML of a slice file's header: loaded, scanned with positions, written, and edited in place."""
