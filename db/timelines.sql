-- The tables of timelines (the others stand in schema.sql, with what holds for all): what ops a
-- timeline is of, which memory they use, and when each ran on each rank.

-- A predicted, measured or imported timeline of one scheduled iteration over all its ranks.
CREATE TABLE timeline (
  id INTEGER PRIMARY KEY,
  run_id INTEGER REFERENCES run (id) ON DELETE CASCADE,
  trial_id INTEGER REFERENCES trial (id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('measured', 'predicted', 'imported')),
  label TEXT NOT NULL,
  iteration INTEGER NOT NULL,
  duration_s REAL NOT NULL
) STRICT;
CREATE INDEX timeline_by_run ON timeline (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX timeline_by_trial ON timeline (trial_id) WHERE trial_id IS NOT NULL;

-- What timelines of one schedule share is stored once by its content; hash is of all rows that refer
-- to it (db/programs.h). A program: ops, what they wait for, groups of ranks, tensors. The views
-- timeline_op, op_edge, rank_group, timeline_tensor and allocation show them for every timeline.
CREATE TABLE program (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE
) STRICT;

-- The program of a timeline; none where nothing of its ops is known.
CREATE TABLE timeline_program (
  timeline_id INTEGER PRIMARY KEY REFERENCES timeline (id) ON DELETE CASCADE,
  program_id INTEGER NOT NULL REFERENCES program (id)
) STRICT;
CREATE INDEX timeline_program_by_program ON timeline_program (program_id);

-- What one entry of the Program is.
CREATE TABLE program_op (
  program_id INTEGER NOT NULL REFERENCES program (id) ON DELETE CASCADE,
  op INTEGER NOT NULL CHECK (op >= 0),
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  activity TEXT NOT NULL CHECK (activity IN ('computation', 'communication', 'copy', 'host')),
  stream TEXT NOT NULL,
  phase TEXT NOT NULL,
  layer INTEGER NOT NULL,  -- -1 where none
  chunk INTEGER NOT NULL,
  chunks INTEGER NOT NULL,
  group_kind TEXT NOT NULL DEFAULT '',  -- program_group.kind; '' where nothing is exchanged
  PRIMARY KEY (program_id, op)
) STRICT, WITHOUT ROWID;

-- An op starts on a rank only when `before` has ended there; of several on one stream, the last. A
-- program without rows was stored before there was this table, or imported.
CREATE TABLE program_edge (
  program_id INTEGER NOT NULL REFERENCES program (id) ON DELETE CASCADE,
  op INTEGER NOT NULL,
  before INTEGER NOT NULL,
  PRIMARY KEY (program_id, op, before)
) STRICT, WITHOUT ROWID;

-- Ranks that communicate with each other: for every kind of group, the lowest rank of the group
-- that a rank belongs to.
CREATE TABLE program_group (
  program_id INTEGER NOT NULL REFERENCES program (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  rank INTEGER NOT NULL CHECK (rank >= 0),
  first_rank INTEGER NOT NULL CHECK (first_rank >= 0),
  PRIMARY KEY (program_id, kind, rank)
) STRICT, WITHOUT ROWID;

-- What a tensor of the Program is. A program without rows was stored before there was this table, or
-- imported. role: 'parameter', 'gradient', 'optimizer_state', 'activation', 'replica' (parameters or
-- gradients of an expert that another rank has too), 'input' or 'result'.
CREATE TABLE program_tensor (
  program_id INTEGER NOT NULL REFERENCES program (id) ON DELETE CASCADE,
  tensor INTEGER NOT NULL,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  pool TEXT NOT NULL CHECK (pool IN ('device', 'host')),  -- whose memory holds it
  PRIMARY KEY (program_id, tensor)
) STRICT, WITHOUT ROWID;

-- The memory of a rank, stored once by its content as a program is. Ranks of many timelines have one.
CREATE TABLE memory_plan (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE timeline_memory (
  timeline_id INTEGER NOT NULL REFERENCES timeline (id) ON DELETE CASCADE,
  rank INTEGER NOT NULL CHECK (rank >= 0),
  plan_id INTEGER NOT NULL REFERENCES memory_plan (id),
  PRIMARY KEY (timeline_id, rank)
) STRICT, WITHOUT ROWID;
CREATE INDEX timeline_memory_by_plan ON timeline_memory (plan_id);

-- The memory that the plan gives a tensor on a rank: `bytes` of its pool from offset_bytes on, with
-- the padding. It is in use from the begin of first_op, the first that uses the tensor, to the end of
-- last_op: spans tell when that is. Both are NULL where it is in use all the time. `tensor` is a row
-- of program_tensor, the ops are rows of program_op; that is checked as for spans.
CREATE TABLE planned_tensor (
  plan_id INTEGER NOT NULL REFERENCES memory_plan (id) ON DELETE CASCADE,
  tensor INTEGER NOT NULL,
  offset_bytes INTEGER NOT NULL CHECK (offset_bytes >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  first_op INTEGER,
  last_op INTEGER,
  PRIMARY KEY (plan_id, tensor)
) STRICT, WITHOUT ROWID;

-- One execution of one op on one rank. The key is in the order of time, so that a window of a rank
-- is one range of the table and spans written in order are appended. `op` is a row of program_op.
-- That is checked when a timeline is written and by `moe-db check`, not by a foreign key, which
-- would look up a million rows.
CREATE TABLE span (
  timeline_id INTEGER NOT NULL REFERENCES timeline (id) ON DELETE CASCADE,
  rank INTEGER NOT NULL CHECK (rank >= 0),
  start_s REAL NOT NULL CHECK (start_s >= 0),  -- from the timeline's begin, on the common clock
  op INTEGER NOT NULL CHECK (op >= 0),
  duration_s REAL NOT NULL CHECK (duration_s >= 0),
  bytes INTEGER NOT NULL,
  flops REAL NOT NULL,
  -- of a communication: until the last rank of its group began; NULL where that is not known
  waiting_s REAL CHECK (waiting_s >= 0),
  PRIMARY KEY (timeline_id, rank, start_s, op)
) STRICT, WITHOUT ROWID;

-- How a rank of a timeline spent its time, worked out when the timeline is stored, since views cannot
-- do that for millions of spans (db/timeline/activity_rows.h). It stays where spans are removed.
CREATE TABLE rank_activity (
  timeline_id INTEGER NOT NULL REFERENCES timeline (id) ON DELETE CASCADE,
  rank INTEGER NOT NULL CHECK (rank >= 0),
  computation_s REAL NOT NULL,
  communication_s REAL NOT NULL,
  copy_s REAL NOT NULL,
  exposed_s REAL NOT NULL,
  exposed_waiting_s REAL NOT NULL,
  exposed_bubble_s REAL NOT NULL,
  PRIMARY KEY (timeline_id, rank)
) STRICT, WITHOUT ROWID;

-- The same by layer, phase and kind of op: sums over its spans. waiting_s is NULL where not every span
-- tells, what is exposed where nothing communicates.
CREATE TABLE op_activity (
  timeline_id INTEGER NOT NULL REFERENCES timeline (id) ON DELETE CASCADE,
  rank INTEGER NOT NULL CHECK (rank >= 0),
  layer INTEGER NOT NULL,
  phase TEXT NOT NULL,
  kind TEXT NOT NULL,
  activity TEXT NOT NULL,
  spans INTEGER NOT NULL,
  busy_s REAL NOT NULL,
  bytes INTEGER NOT NULL,
  flops REAL NOT NULL,
  waiting_s REAL,
  exposed_s REAL,
  exposed_waiting_s REAL,
  exposed_bubble_s REAL,
  PRIMARY KEY (timeline_id, rank, layer, phase, kind, activity)
) STRICT, WITHOUT ROWID;
