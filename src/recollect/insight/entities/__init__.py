"""Entities: the things that conversations speak of, of 22 types, each under one name.

`extract.mentions_of` says what one entry mentions. It reads the structure of tool calls first (`shell`,
`manifest`, `output`), then texts: by the shape of words (`shapes`), by sentences (`prose`), by lines of code
(`code`), and by word lists (`words`, with its data files).
"""
