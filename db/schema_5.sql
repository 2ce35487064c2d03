-- Version 5: loads of every micro-batch, what changed results change. Frozen once released.

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

-- last_loss: of the last iteration of the last repeat; sequential_last_loss: the same of the sequential trial, which it should
-- be equal to but where changes_results is not NULL, or where the text that is trained on changed meanwhile; loss_difference: by how much it is above that. speedup: the measured
-- sequential trial of the same study over this one's. prediction_error: (predicted - measured) / measured.
DROP VIEW trial_view;
CREATE VIEW trial_view AS
SELECT study, trial, planner, parameters, status, error, paper_s, predicted_s, measured_s, lower_bound_s,
       predicted_peak_bytes, measured_peak_bytes, sequential_s, repeats, min_repeat_s, max_repeat_s, started_at,
       finished_at, heartbeat_at, ranks, study_id, schedule_id, sequential_s / measured_s AS speedup,
       (predicted_s - measured_s) / measured_s AS prediction_error, layout, changes_results, last_loss, sequential_last_loss,
       last_loss - sequential_last_loss AS loss_difference
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
              WHERE trial_repeat.trial_id = trial.id AND run_view.status = 'done'
              ORDER BY trial_repeat.repeat DESC LIMIT 1) AS last_loss,
             (SELECT run_view.last_loss FROM trial AS sequential
              JOIN trial_repeat ON trial_repeat.trial_id = sequential.id JOIN run_view ON run_view.run = trial_repeat.run_id
              WHERE sequential.study_id = trial.study_id AND sequential.planner = 'sequential' AND run_view.status = 'done'
              ORDER BY trial_repeat.repeat DESC LIMIT 1) AS sequential_last_loss
      FROM trial JOIN study ON study.id = trial.study_id LEFT JOIN schedule ON schedule.id = trial.schedule_id);
