"""Looks into a spool's catalogue, also beside the agent that has it."""

import sqlite3


def ask(path, question):
    """The rows that answer ${question}; none where the catalogue, or the table, is not there yet."""
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
