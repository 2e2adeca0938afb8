"""Reads a spool's catalogue, also beside the agent that uses it."""

import sqlite3


def ask(path, question):
    """The rows for ${question}; none if the catalogue, or the table, does not exist yet."""
    try:
        catalogue = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    except sqlite3.OperationalError:
        return []
    try:
        return catalogue.execute(question).fetchall()
    except sqlite3.OperationalError:
        return []
    finally:
        catalogue.close()
