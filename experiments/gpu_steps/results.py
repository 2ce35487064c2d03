"""The database of the results: what the programs store, and the text of each step."""

import contextlib
import os
import sqlite3

# A table of this experiment's own: programs of moelab leave it alone, and `moe-db merge` leaves it out.
TABLE = """
CREATE TABLE IF NOT EXISTS gpu_step (
  step TEXT NOT NULL, revision TEXT NOT NULL, gpu TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('done', 'failed', 'hung', 'impossible')),
  started_at REAL NOT NULL, duration_s REAL NOT NULL, limit_s REAL NOT NULL,
  clocks TEXT NOT NULL,  -- of the GPUs beside it; '' where nothing tells them
  output TEXT NOT NULL,  -- Markdown
  PRIMARY KEY (step, revision, gpu)
) STRICT"""


class Unreadable(Exception):
    pass


class Results:
    """Of one build and one card."""

    def __init__(self, file, found):
        self.key = (found.revision, found.card)
        self.file = file
        with self.connection() as connection:
            connection.execute(TABLE)

    @contextlib.contextmanager
    def connection(self):
        """Open for one change only: a step's programs find the database closed."""
        try:
            with contextlib.closing(sqlite3.connect(self.file, timeout=10)) as connection:
                with connection:
                    yield connection
        except sqlite3.Error as problem:
            raise Unreadable(f"{self.file}: {problem}") from problem

    def row_of(self, step):
        with self.connection() as connection:
            connection.row_factory = sqlite3.Row
            return connection.execute("SELECT * FROM gpu_step WHERE step = ? AND revision = ? AND gpu = ?",
                                      (step, *self.key)).fetchone()

    def state_of(self, step):
        row = self.row_of(step)
        return row["state"] if row else None

    def add(self, step, outcome):
        with self.connection() as connection:
            connection.execute("INSERT OR REPLACE INTO gpu_step VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                               (step.name, *self.key, outcome.state, outcome.started_at, outcome.duration_s,
                                outcome.limit_s, outcome.clocks, outcome.output))

    def copy_to(self, target):
        """One whole file, which has its name only then."""
        part = target.with_name(target.name + ".part")
        part.unlink(missing_ok=True)
        with self.connection() as connection:
            try:
                connection.execute("VACUUM INTO ?", (str(part),))
            except sqlite3.Error as problem:  # sqlite3 would name the database that is copied
                raise Unreadable(f"{target}: {problem}") from problem
        os.replace(part, target)
