"""How names that people write are compared: tags, properties, and what links call a note."""

import unicodedata


def name_key(name: str) -> str:
    """What stays of a name when case, spaces and Unicode form are of no account."""
    return unicodedata.normalize("NFC", " ".join(name.split()).casefold())


def tag_key(tag: str) -> str:
    """A tag without its `#`, its levels joined by single slashes; empty where it is none."""
    levels = name_key(tag.strip().lstrip("#")).replace("ё", "е").split("/")
    return "/".join(level.strip() for level in levels if level.strip())
