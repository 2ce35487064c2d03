-- Version 4: which ranks share cores, what changes results, router z-loss. Frozen once released.

-- Ranks with cores in common are of one core set of their run; cores: how many its ranks can use at one time; threads: that the
-- rank computes with, NULL on a GPU. All NULL where it is not known.
ALTER TABLE run_rank ADD COLUMN core_set INTEGER CHECK (core_set >= 0);
ALTER TABLE run_rank ADD COLUMN cores INTEGER CHECK (cores >= 1);
ALTER TABLE run_rank ADD COLUMN threads INTEGER CHECK (threads >= 1);

-- Layouts of before there were pipelines say so.
UPDATE run SET layout = layout || ',pp=1' WHERE layout <> '' AND instr(layout, 'pp=') = 0;
UPDATE study SET layout = layout || ',pp=1' WHERE layout <> '' AND instr(layout, 'pp=') = 0;

-- Router z-loss, unweighted; NULL where it is not weighed, not finite, or was not stored.
ALTER TABLE iteration ADD COLUMN z_loss REAL;
DROP VIEW iteration_view;
CREATE VIEW iteration_view AS
SELECT run_id AS run, iteration, loss, auxiliary_loss, heldout_loss, iteration.duration_s, tokens, dropped_tokens,
       tokens / nullif(iteration.duration_s, 0) AS tokens_per_s,
       coalesce(iteration.schedule_id, run.schedule_id) AS schedule_id, z_loss
FROM iteration JOIN run ON run.id = iteration.run_id;

-- Which ranks share how many processors stands in a list.
UPDATE run SET cluster_json = json_remove(cluster_json, '$.processors') WHERE cluster_json <> '';
UPDATE study SET cluster_json = json_remove(cluster_json, '$.processors') WHERE cluster_json <> '';

-- Names of the decisions that change losses and gradients, ", " between: '' where all only say how.
ALTER TABLE schedule ADD COLUMN changes_results TEXT NOT NULL DEFAULT '';
UPDATE schedule SET changes_results = 'compress_exchange'
WHERE EXISTS (SELECT 1 FROM json_each(schedule.json, '$.decisions') WHERE value ->> '$.decision' = 'compress_exchange');

DROP VIEW run_view;
DROP VIEW trial_view;

CREATE VIEW run_view AS
SELECT run.id AS run, run.kind, run.name, run.status, run.error, run.device, run.ranks,
       machine.hostname AS machine, machine.cpu, machine.gpu, nullif(run.planner, '') AS planner, run.started_at,
       coalesce(run.finished_at, run.heartbeat_at) - run.started_at AS duration_s,
       (SELECT max(iteration) FROM iteration WHERE run_id = run.id) AS last_iteration,
       (SELECT loss FROM iteration WHERE run_id = run.id ORDER BY iteration DESC LIMIT 1) AS last_loss,
       run.seed, run.revision, run.schedule_id, nullif(run.layout, '') AS layout,
       nullif(schedule.changes_results, '') AS changes_results
FROM run
JOIN machine ON machine.id = run.machine_id
LEFT JOIN schedule ON schedule.id = run.schedule_id;

-- last_loss: of the last iteration of a repeat; sequential_last_loss: of the measured sequential trial, which it should be
-- equal to but where changes_results is not NULL. speedup: the measured sequential trial of the same study over this one's. prediction_error: (predicted - measured) / measured.
CREATE VIEW trial_view AS
SELECT study, trial, planner, parameters, status, error, paper_s, predicted_s, measured_s, lower_bound_s,
       predicted_peak_bytes, measured_peak_bytes, sequential_s, repeats, min_repeat_s, max_repeat_s, started_at,
       finished_at, heartbeat_at, ranks, study_id, schedule_id, sequential_s / measured_s AS speedup,
       (predicted_s - measured_s) / measured_s AS prediction_error, layout, changes_results, last_loss, sequential_last_loss
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
             trial.started_at, trial.finished_at, trial.heartbeat_at, study.ranks, trial.study_id, trial.schedule_id,
             nullif(study.layout, '') AS layout, nullif(schedule.changes_results, '') AS changes_results,
             (SELECT run_view.last_loss FROM trial_repeat JOIN run_view ON run_view.run = trial_repeat.run_id
              WHERE trial_repeat.trial_id = trial.id AND run_view.status = 'done' LIMIT 1) AS last_loss,
             (SELECT run_view.last_loss FROM trial AS sequential
              JOIN trial_repeat ON trial_repeat.trial_id = sequential.id JOIN run_view ON run_view.run = trial_repeat.run_id
              WHERE sequential.study_id = trial.study_id AND sequential.planner = 'sequential' AND run_view.status = 'done'
              LIMIT 1) AS sequential_last_loss
      FROM trial JOIN study ON study.id = trial.study_id LEFT JOIN schedule ON schedule.id = trial.schedule_id);
