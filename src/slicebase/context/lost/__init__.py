"""What a compaction lost: the items of a transcript, what became of each, and which of them a summary keeps."""
