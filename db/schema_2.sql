-- Version 2: what an op is, what a study keeps about itself, which schedule ruled an iteration. Frozen once released.

DROP VIEW run_view;
DROP VIEW iteration_view;
DROP VIEW timeline_view;
DROP VIEW span_view;

-- A schedule is stored once per content, whoever made it: who made a run's stands in the run. '' where it has none.
ALTER TABLE run ADD COLUMN planner TEXT NOT NULL DEFAULT '';
UPDATE run SET planner = (SELECT planner FROM schedule WHERE schedule.id = run.schedule_id) WHERE schedule_id IS NOT NULL;

-- NULL: the run's.
ALTER TABLE iteration ADD COLUMN schedule_id INTEGER REFERENCES schedule (id);
CREATE INDEX iteration_by_schedule ON iteration (schedule_id) WHERE schedule_id IS NOT NULL;

-- Ids of the runs whose timelines gave the costs, in the order in which they were made, and these costs. '' before.
ALTER TABLE study ADD COLUMN profile_runs_json TEXT NOT NULL DEFAULT ''
  CHECK (profile_runs_json = '' OR json_valid(profile_runs_json));
ALTER TABLE study ADD COLUMN cost_model_json TEXT NOT NULL DEFAULT ''
  CHECK (cost_model_json = '' OR json_valid(cost_model_json));
UPDATE study SET profile_runs_json = coalesce(settings_json -> '$.profile_runs', ''),
                 cost_model_json = coalesce(settings_json -> '$.costs', ''),
                 settings_json = json_remove(settings_json, '$.profile_runs', '$.costs')
WHERE settings_json <> '';

-- A table of its own making: the activity of a new op has no default.
ALTER TABLE timeline_op RENAME TO timeline_op_1;
CREATE TABLE timeline_op (
  timeline_id INTEGER NOT NULL REFERENCES timeline (id) ON DELETE CASCADE,
  op INTEGER NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  activity TEXT NOT NULL CHECK (activity IN ('computation', 'communication', 'copy', 'host')),
  stream TEXT NOT NULL,
  phase TEXT NOT NULL,
  layer INTEGER NOT NULL,  -- -1 where none
  chunk INTEGER NOT NULL,
  chunks INTEGER NOT NULL,
  PRIMARY KEY (timeline_id, op)
) STRICT, WITHOUT ROWID;
-- Version 1 did not say what an op is: once more, its kind and stream tell.
INSERT INTO timeline_op
SELECT timeline_id, op, name, kind,
       CASE WHEN instr(kind, 'all_to_all') OR instr(kind, 'all_reduce') OR instr(kind, 'all_gather')
              OR instr(kind, 'reduce_scatter') OR instr(kind, 'broadcast') OR instr(kind, 'exchange_counts')
              OR instr(kind, 'send') OR instr(kind, 'recv') OR instr(kind, 'AllReduce') OR instr(kind, 'AllGather')
              OR instr(kind, 'AllToAll') OR instr(kind, 'ReduceScatter') THEN 'communication'
            WHEN instr(kind, 'copy') OR instr(kind, 'memcpy') OR instr(kind, 'Memcpy') OR instr(kind, 'memset') THEN 'copy'
            WHEN stream IN ('inter_node', 'intra_node') THEN 'communication'
            WHEN stream = 'copy' THEN 'copy'
            WHEN stream = 'host' THEN 'host'
            ELSE 'computation' END,
       stream, phase, layer, chunk, chunks
FROM timeline_op_1;
DROP TABLE timeline_op_1;

CREATE VIEW run_view AS
SELECT run.id AS run, run.kind, run.name, run.status, run.error, run.device, run.ranks,
       machine.hostname AS machine, machine.cpu, machine.gpu, nullif(run.planner, '') AS planner, run.started_at,
       coalesce(run.finished_at, run.heartbeat_at) - run.started_at AS duration_s,
       (SELECT max(iteration) FROM iteration WHERE run_id = run.id) AS last_iteration,
       (SELECT loss FROM iteration WHERE run_id = run.id ORDER BY iteration DESC LIMIT 1) AS last_loss,
       run.seed, run.revision, run.schedule_id
FROM run
JOIN machine ON machine.id = run.machine_id;

-- schedule_id: of the schedule that ruled the iteration.
CREATE VIEW iteration_view AS
SELECT run_id AS run, iteration, loss, auxiliary_loss, heldout_loss, iteration.duration_s, tokens, dropped_tokens,
       tokens / nullif(iteration.duration_s, 0) AS tokens_per_s,
       coalesce(iteration.schedule_id, run.schedule_id) AS schedule_id
FROM iteration JOIN run ON run.id = iteration.run_id;

CREATE VIEW timeline_view AS
SELECT timeline.id AS timeline, timeline.run_id AS run, timeline.trial_id AS trial, study.name AS study,
       coalesce(trial.planner, nullif(run.planner, '')) AS planner, timeline.kind, timeline.label, timeline.iteration,
       timeline.duration_s
FROM timeline
LEFT JOIN run ON run.id = timeline.run_id
LEFT JOIN trial ON trial.id = timeline.trial_id
LEFT JOIN study ON study.id = trial.study_id;

CREATE VIEW span_view AS
SELECT timeline.run_id AS run, timeline.trial_id AS trial, span.timeline_id AS timeline,
       timeline.kind AS timeline_kind, timeline.iteration, span.rank, span.op, timeline_op.name,
       timeline_op.kind, timeline_op.stream, timeline_op.phase,
       timeline_op.layer, timeline_op.chunk, timeline_op.chunks, span.start_s, span.duration_s,
       span.start_s + span.duration_s AS end_s, span.bytes, span.flops,
       span.bytes / nullif(span.duration_s, 0) AS bandwidth_bytes_per_s,
       span.flops / nullif(span.duration_s, 0) AS flops_per_s, timeline_op.activity
FROM span
JOIN timeline ON timeline.id = span.timeline_id
JOIN timeline_op ON timeline_op.timeline_id = span.timeline_id AND timeline_op.op = span.op;
