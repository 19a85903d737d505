"""Shapes of secrets that were written down after the rules, and never used to change them.

Each line is a shape in the words of public documentation or of another public scanner (Nosey Parker, TruffleHog,
detect-secrets), as a pattern of `slicebase.secrets.pattern`, in a context where people paste it.
"""

