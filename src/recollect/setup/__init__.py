"""Putting Recollect into agents, and taking it out again: the files of theirs that we change."""
