"""Notes of every kind that a policy tells apart."""

AS_OF = "2025-03-17T10:00:00Z"
POLICY = """
version = "2025-03"
owner = "docs@example.org"
labels = ["engineering-read"]
unlabelled = "closed"
"""
NOTES = {
    "adapter-v1.md": """---
revision: v1
expires: 2025-03-01
access: engineering-read
---
# Adapter schema adapter

## Adapter schema upgrade

Zebraold: the adapter upgrade of the schema runs before the adapter schema starts.
""",
    "adapter-v3.md": """---
revision: v3
published: 2025-03-02T08:00:00+02:00
access: [engineering-read, ops]
---
# Adapter three

## Schema upgrade

Quaggacurrent: an upgrade of the schema runs while the adapter serves.
""",
    "closed.md": """---
revision: v9
access: hr
---
# Okapisecret title

## Okapisecret schema upgrade

Okapisecret text: adapter upgrade of the schema.
""",
    "unversioned.md": """---
access: engineering-read
---
# Gnunorev

## Gnunorev upgrade

Gnunorev text: adapter schema upgrade.
""",
    "plain.md": """---
revision: v2
access: engineering-read
---
Kududplain text without any heading: adapter schema upgrade.
""",
}
WORDS = {
    "adapter-v1": "Zebraold",
    "closed": "Okapisecret",
    "unversioned": "Gnunorev",
    "plain": "Kududplain",
}
ASKED = ("adapter", "schema", "upgrade")
FORMS = ((), ("--json",), ("--md",), ("--csv",), ("--files",), ("--explain", "--full"))
