"""Facts by a model: what it is shown of a session, how it is asked, and which of its answers hold."""
