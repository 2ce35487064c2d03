-- Version 5: loads of every micro-batch. Frozen once released.

DROP VIEW load_view;

-- A table of its own making: the micro-batch is part of the key. -1: of all micro-batches of the iteration together, as loads
-- were stored before. What the key holds comes first: SQLite 3.40's integrity check takes another order for damage.
ALTER TABLE load RENAME TO load_4;
CREATE TABLE load (
  run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  iteration INTEGER NOT NULL,
  layer INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  expert INTEGER NOT NULL,
  micro_batch INTEGER NOT NULL CHECK (micro_batch >= -1),
  tokens INTEGER NOT NULL CHECK (tokens >= 0),
  asked_tokens INTEGER CHECK (asked_tokens >= 0),
  PRIMARY KEY (run_id, iteration, layer, rank, expert, micro_batch)
) STRICT, WITHOUT ROWID;
INSERT INTO load SELECT run_id, iteration, layer, rank, expert, -1, tokens, asked_tokens FROM load_4;
DROP TABLE load_4;

-- Of whole iterations.
CREATE VIEW load_view AS
SELECT run, iteration, layer, expert, rank, tokens, asked_tokens, asked_tokens - tokens AS dropped_tokens
FROM (SELECT run_id AS run, iteration, layer, expert, rank, sum(tokens) AS tokens,
             CASE WHEN count(asked_tokens) = count(*) THEN sum(asked_tokens) END AS asked_tokens
      FROM load GROUP BY run_id, iteration, layer, rank, expert);
