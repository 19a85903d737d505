"""Secrets in text: rules that recognise them in linear time, and the redaction that replaces them by marks."""
