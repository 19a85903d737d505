"""What breaks the rules: in one file's frontmatter, in its body, and between files."""
