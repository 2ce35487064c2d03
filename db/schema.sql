-- The result database of moelab, version 1: one table per struct of db/records.h, columns named as its fields.
-- Seconds are REAL, instants are Unix seconds (UTC), byte and token counts are INTEGER. Columns that end in _json hold
-- JSON or ''. What belongs to a row is deleted with it (CASCADE); machines and schedules are shared and cannot be
-- deleted while something refers to them. This file is frozen once released: later versions are added to the list in
-- db/migrations.cpp.

-- The computer (or the node) on which figures were measured.
CREATE TABLE machine (
  id INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL UNIQUE,  -- hash of the columns below
  hostname TEXT NOT NULL,
  os TEXT NOT NULL,
  cpu TEXT NOT NULL,
  cores INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,
  gpu TEXT NOT NULL,  -- '' where there is none
  gpu_count INTEGER NOT NULL,
  libraries_json TEXT NOT NULL CHECK (libraries_json = '' OR json_valid(libraries_json))
) STRICT;

-- A schedule, stored once per content.
CREATE TABLE schedule (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  planner TEXT NOT NULL,
  json TEXT NOT NULL CHECK (json_valid(json))
) STRICT;

-- One execution of one of the programs, with its provenance.
CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  machine_id INTEGER NOT NULL REFERENCES machine (id),
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('running', 'done', 'failed', 'killed')),
  error TEXT NOT NULL,
  started_at REAL NOT NULL,
  finished_at REAL,
  heartbeat_at REAL NOT NULL,
  pid INTEGER NOT NULL,
  revision TEXT NOT NULL,
  argv_json TEXT NOT NULL CHECK (argv_json = '' OR json_valid(argv_json)),
  environment_json TEXT NOT NULL CHECK (environment_json = '' OR json_valid(environment_json)),
  device TEXT NOT NULL,
  ranks INTEGER NOT NULL CHECK (ranks >= 1),
  model_json TEXT NOT NULL CHECK (model_json = '' OR json_valid(model_json)),
  cluster_json TEXT NOT NULL CHECK (cluster_json = '' OR json_valid(cluster_json)),
  schedule_id INTEGER REFERENCES schedule (id),
  seed INTEGER NOT NULL
) STRICT;
CREATE INDEX run_by_start ON run (started_at DESC);
CREATE INDEX run_by_machine ON run (machine_id);
CREATE INDEX run_by_schedule ON run (schedule_id) WHERE schedule_id IS NOT NULL;
CREATE INDEX run_unfinished ON run (heartbeat_at) WHERE status = 'running';

-- One rank of a run: where it ran, its clock, its peaks.
CREATE TABLE run_rank (
  run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  rank INTEGER NOT NULL CHECK (rank >= 0),
  hostname TEXT NOT NULL,
  node INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  clock_offset_s REAL NOT NULL,
  clock_error_s REAL NOT NULL,
  predicted_peak_bytes INTEGER NOT NULL,
  measured_peak_bytes INTEGER NOT NULL,
  PRIMARY KEY (run_id, rank)
) STRICT, WITHOUT ROWID;

-- One training step. loss and auxiliary_loss are NULL where they were not finite (the training diverged);
-- heldout_loss is NULL also where it was not evaluated.
CREATE TABLE iteration (
  run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  iteration INTEGER NOT NULL,
  loss REAL,
  auxiliary_loss REAL,
  heldout_loss REAL,
  duration_s REAL NOT NULL,
  tokens INTEGER NOT NULL,
  dropped_tokens INTEGER NOT NULL,
  PRIMARY KEY (run_id, iteration)
) STRICT, WITHOUT ROWID;

-- Tokens that source rank `rank` sent to `expert` of a MoE layer.
CREATE TABLE load (
  run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  iteration INTEGER NOT NULL,
  layer INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  expert INTEGER NOT NULL,
  tokens INTEGER NOT NULL CHECK (tokens >= 0),
  PRIMARY KEY (run_id, iteration, layer, rank, expert)
) STRICT, WITHOUT ROWID;

-- A named set of trials over one model and machine.
CREATE TABLE study (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  model_json TEXT NOT NULL CHECK (model_json = '' OR json_valid(model_json)),
  cluster_json TEXT NOT NULL CHECK (cluster_json = '' OR json_valid(cluster_json)),
  settings_json TEXT NOT NULL CHECK (settings_json = '' OR json_valid(settings_json)),
  ranks INTEGER NOT NULL CHECK (ranks >= 1),
  created_at REAL NOT NULL
) STRICT;

-- One candidate schedule of a study: the paper's, the predicted and the measured time side by side.
CREATE TABLE trial (
  id INTEGER PRIMARY KEY,
  study_id INTEGER NOT NULL REFERENCES study (id) ON DELETE CASCADE,
  schedule_id INTEGER NOT NULL REFERENCES schedule (id),
  planner TEXT NOT NULL,
  parameters_json TEXT NOT NULL CHECK (parameters_json = '' OR json_valid(parameters_json)),
  status TEXT NOT NULL CHECK (status IN ('planned', 'running', 'done', 'infeasible', 'out_of_memory',
                                         'hung', 'crashed', 'failed')),
  error TEXT NOT NULL,
  paper_s REAL,
  predicted_s REAL,
  measured_s REAL,
  lower_bound_s REAL,
  predicted_peak_bytes INTEGER,
  measured_peak_bytes INTEGER,
  started_at REAL,
  finished_at REAL,
  heartbeat_at REAL NOT NULL,
  UNIQUE (study_id, schedule_id)
) STRICT;
CREATE INDEX trial_by_planner ON trial (study_id, planner, measured_s);
CREATE INDEX trial_by_schedule ON trial (schedule_id);
CREATE INDEX trial_unfinished ON trial (heartbeat_at) WHERE status = 'running';

-- One measured repeat of a trial.
CREATE TABLE trial_repeat (
  trial_id INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
  repeat INTEGER NOT NULL,
  run_id INTEGER REFERENCES run (id) ON DELETE SET NULL,
  measured_s REAL NOT NULL,
  steps INTEGER NOT NULL,
  PRIMARY KEY (trial_id, repeat)
) STRICT, WITHOUT ROWID;
CREATE INDEX trial_repeat_by_run ON trial_repeat (run_id) WHERE run_id IS NOT NULL;

-- A least-squares line t = alpha_s + beta_s_per_unit * n.
CREATE TABLE fit (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  op TEXT NOT NULL,
  device TEXT NOT NULL,
  ranks INTEGER NOT NULL,
  link TEXT NOT NULL,
  alpha_s REAL NOT NULL,
  beta_s_per_unit REAL NOT NULL,
  unit TEXT NOT NULL,
  r2 REAL NOT NULL,
  samples INTEGER NOT NULL,
  min_units REAL NOT NULL,
  max_units REAL NOT NULL,
  max_relative_residual REAL NOT NULL
) STRICT;
CREATE INDEX fit_by_run ON fit (run_id);
CREATE INDEX fit_by_op ON fit (op, device, ranks, link);

-- One row of a microbenchmark sweep, in nccl-tests' terms.
CREATE TABLE measurement (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  op TEXT NOT NULL,
  device TEXT NOT NULL,
  dtype TEXT NOT NULL,
  ranks INTEGER NOT NULL,
  parameters_json TEXT NOT NULL CHECK (parameters_json = '' OR json_valid(parameters_json)),
  bytes INTEGER NOT NULL,
  count INTEGER NOT NULL,
  flops REAL NOT NULL,
  time_s REAL NOT NULL,
  min_s REAL NOT NULL,
  max_s REAL NOT NULL,
  samples INTEGER NOT NULL,
  algorithm_bandwidth_bytes_per_s REAL NOT NULL,
  bus_bandwidth_bytes_per_s REAL NOT NULL,
  wrong INTEGER NOT NULL
) STRICT;
CREATE INDEX measurement_by_run ON measurement (run_id);
CREATE INDEX measurement_by_op ON measurement (op, device, ranks, bytes);

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

-- What one entry of the Program is, once per timeline.
CREATE TABLE timeline_op (
  timeline_id INTEGER NOT NULL REFERENCES timeline (id) ON DELETE CASCADE,
  op INTEGER NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  stream TEXT NOT NULL,
  phase TEXT NOT NULL,
  layer INTEGER NOT NULL,  -- -1 where none
  chunk INTEGER NOT NULL,
  chunks INTEGER NOT NULL,
  PRIMARY KEY (timeline_id, op)
) STRICT, WITHOUT ROWID;

-- One execution of one op on one rank. The key is in the order of time, so that a window of a rank is one range of the
-- table and spans written in order are appended. `op` is a row of timeline_op: checked when a timeline is written and by
-- `moe-db check`, not by a foreign key, which would look up a million rows.
CREATE TABLE span (
  timeline_id INTEGER NOT NULL REFERENCES timeline (id) ON DELETE CASCADE,
  rank INTEGER NOT NULL,
  start_s REAL NOT NULL,  -- from the timeline's begin, on the common clock
  op INTEGER NOT NULL,
  duration_s REAL NOT NULL CHECK (duration_s >= 0),
  bytes INTEGER NOT NULL,
  flops REAL NOT NULL,
  PRIMARY KEY (timeline_id, rank, start_s, op)
) STRICT, WITHOUT ROWID;

-- The views below stay as they are when tables change: people and notebooks rely on them.

CREATE VIEW run_view AS
SELECT run.id AS run, run.kind, run.name, run.status, run.error, run.device, run.ranks,
       machine.hostname AS machine, machine.cpu, machine.gpu, schedule.planner, run.started_at,
       coalesce(run.finished_at, run.heartbeat_at) - run.started_at AS duration_s,
       (SELECT max(iteration) FROM iteration WHERE run_id = run.id) AS last_iteration,
       (SELECT loss FROM iteration WHERE run_id = run.id ORDER BY iteration DESC LIMIT 1) AS last_loss,
       run.seed, run.revision, run.schedule_id
FROM run
JOIN machine ON machine.id = run.machine_id
LEFT JOIN schedule ON schedule.id = run.schedule_id;

CREATE VIEW iteration_view AS
SELECT run_id AS run, iteration, loss, auxiliary_loss, heldout_loss, duration_s, tokens, dropped_tokens,
       tokens / nullif(duration_s, 0) AS tokens_per_s
FROM iteration;

-- speedup: the measured sequential trial of the same study over this one's. prediction_error: (predicted - measured) / measured.
CREATE VIEW trial_view AS
SELECT *, sequential_s / measured_s AS speedup, (predicted_s - measured_s) / measured_s AS prediction_error
FROM (SELECT study.name AS study, trial.id AS trial, trial.planner, trial.parameters_json AS parameters, trial.status,
             trial.error, trial.paper_s, trial.predicted_s, trial.measured_s, trial.lower_bound_s,
             trial.predicted_peak_bytes, trial.measured_peak_bytes,
             (SELECT sequential.measured_s FROM trial AS sequential
              WHERE sequential.study_id = trial.study_id AND sequential.planner = 'sequential'
                AND sequential.measured_s > 0
              ORDER BY sequential.measured_s LIMIT 1) AS sequential_s,
             (SELECT count(*) FROM trial_repeat WHERE trial_id = trial.id) AS repeats,
             (SELECT min(measured_s) FROM trial_repeat WHERE trial_id = trial.id) AS min_repeat_s,
             (SELECT max(measured_s) FROM trial_repeat WHERE trial_id = trial.id) AS max_repeat_s,
             trial.started_at, trial.finished_at, trial.heartbeat_at, study.ranks, trial.study_id, trial.schedule_id
      FROM trial JOIN study ON study.id = trial.study_id);

CREATE VIEW timeline_view AS
SELECT timeline.id AS timeline, timeline.run_id AS run, timeline.trial_id AS trial, study.name AS study,
       coalesce(trial.planner, schedule.planner) AS planner, timeline.kind, timeline.label, timeline.iteration,
       timeline.duration_s
FROM timeline
LEFT JOIN run ON run.id = timeline.run_id
LEFT JOIN schedule ON schedule.id = run.schedule_id
LEFT JOIN trial ON trial.id = timeline.trial_id
LEFT JOIN study ON study.id = trial.study_id;

CREATE VIEW span_view AS
SELECT timeline.run_id AS run, timeline.trial_id AS trial, span.timeline_id AS timeline,
       timeline.kind AS timeline_kind, timeline.iteration, span.rank, span.op, timeline_op.name,
       timeline_op.kind, timeline_op.stream, timeline_op.phase,
       timeline_op.layer, timeline_op.chunk, timeline_op.chunks, span.start_s, span.duration_s,
       span.start_s + span.duration_s AS end_s, span.bytes, span.flops,
       span.bytes / nullif(span.duration_s, 0) AS bandwidth_bytes_per_s,
       span.flops / nullif(span.duration_s, 0) AS flops_per_s
FROM span
JOIN timeline ON timeline.id = span.timeline_id
JOIN timeline_op ON timeline_op.timeline_id = span.timeline_id AND timeline_op.op = span.op;

CREATE VIEW load_view AS
SELECT run_id AS run, iteration, layer, expert, rank, tokens FROM load;

-- Balance of one MoE layer in one iteration over its experts: 1 is perfect, the number of experts is the worst.
CREATE VIEW balance_view AS
SELECT run, iteration, layer, count(*) AS experts, sum(tokens) AS tokens, max(tokens) AS max_tokens,
       max(tokens) / nullif(avg(tokens), 0) AS max_over_mean
FROM (SELECT run_id AS run, iteration, layer, expert, sum(tokens) AS tokens
      FROM load GROUP BY run_id, iteration, layer, expert)
GROUP BY run, iteration, layer;

CREATE VIEW fit_view AS
SELECT fit.id AS fit, fit.op, fit.device, fit.ranks, fit.link, fit.alpha_s, fit.beta_s_per_unit, fit.unit, fit.r2,
       fit.samples, fit.max_relative_residual, 1.0 / nullif(fit.beta_s_per_unit, 0) AS units_per_s,
       fit.min_units, fit.max_units, machine.hostname AS machine, fit.run_id AS run, run.started_at
FROM fit JOIN run ON run.id = fit.run_id JOIN machine ON machine.id = run.machine_id;

CREATE VIEW measurement_view AS
SELECT measurement.id AS measurement, measurement.op, measurement.device, measurement.dtype, measurement.ranks,
       measurement.parameters_json AS parameters, measurement.bytes, measurement.count, measurement.flops,
       measurement.time_s, measurement.min_s, measurement.max_s, measurement.samples,
       measurement.algorithm_bandwidth_bytes_per_s, measurement.bus_bandwidth_bytes_per_s,
       measurement.flops / nullif(measurement.time_s, 0) AS flops_per_s, measurement.wrong,
       machine.hostname AS machine, measurement.run_id AS run, run.started_at
FROM measurement JOIN run ON run.id = measurement.run_id JOIN machine ON machine.id = run.machine_id;
