-- Version 3: how ranks were divided, what gates asked for, how even the loads were, one name per dtype. Frozen once released.

DROP VIEW run_view;
DROP VIEW trial_view;
DROP VIEW load_view;
DROP VIEW balance_view;

-- "dp=1,ep=4,esp=1,tp=1". '' where nothing is trained, or where it is not known. Before there was a choice, and later where
-- none was made, experts were spread over all ranks.
ALTER TABLE study ADD COLUMN layout TEXT NOT NULL DEFAULT '';
UPDATE study SET layout = 'dp=1,ep=' || ranks || ',esp=1,tp=1';
UPDATE study SET layout = coalesce(settings_json ->> '$.layout', layout), settings_json = json_remove(settings_json, '$.layout')
WHERE settings_json <> '';
ALTER TABLE run ADD COLUMN layout TEXT NOT NULL DEFAULT '';
UPDATE run SET layout = 'dp=1,ep=' || ranks || ',esp=1,tp=1' WHERE kind = 'train' AND instr(argv_json, '--layout') = 0;
UPDATE run SET layout = study.layout FROM trial_repeat
JOIN trial ON trial.id = trial_repeat.trial_id JOIN study ON study.id = trial.study_id WHERE trial_repeat.run_id = run.id;
UPDATE run SET layout = study.layout FROM study WHERE run.kind = 'study' AND study.name = run.name;

-- What the gate of the source rank asked for: tokens, and those that were dropped over capacity. NULL where it is not known.
ALTER TABLE load ADD COLUMN asked_tokens INTEGER CHECK (asked_tokens >= 0);
UPDATE load SET asked_tokens = tokens
WHERE EXISTS (SELECT 1 FROM iteration
              WHERE iteration.run_id = load.run_id AND iteration.iteration = load.iteration AND dropped_tokens = 0);

-- As --dtype calls them.
UPDATE measurement SET dtype = CASE dtype WHEN 'float' THEN 'f32' WHEN 'double' THEN 'f64' WHEN 'int32' THEN 'i32'
                                          WHEN 'uint64' THEN 'u64' ELSE dtype END;

-- How even the loads of a MoE layer were, of every iteration, also of those whose loads are not stored. Tokens are copies that
-- travelled. Per expert: its tokens from all source ranks. Per rank: tokens whose expert it computes, or its share of the
-- expert; NULL where that is not known.
CREATE TABLE balance (
  run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  iteration INTEGER NOT NULL,
  layer INTEGER NOT NULL,
  experts INTEGER NOT NULL CHECK (experts >= 1),
  unused_experts INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  dropped_tokens INTEGER,
  max_tokens INTEGER NOT NULL,
  standard_deviation REAL NOT NULL,
  max_rank_tokens INTEGER,
  mean_rank_tokens REAL,
  rank_standard_deviation REAL,
  locality REAL,
  PRIMARY KEY (run_id, iteration, layer)
) STRICT, WITHOUT ROWID;

INSERT INTO balance
WITH expert_load AS MATERIALIZED (
  SELECT run_id, iteration, layer, expert, sum(tokens) AS tokens, sum(asked_tokens) - sum(tokens) AS dropped,
         count(*) = count(asked_tokens) AS all_asked
  FROM load GROUP BY run_id, iteration, layer, expert)
SELECT load.run_id, load.iteration, load.layer, count(*), sum(load.tokens = 0), sum(load.tokens),
       CASE WHEN min(load.all_asked) THEN sum(load.dropped) END, max(load.tokens),
       sqrt(max(avg(1.0 * load.tokens * load.tokens) - avg(load.tokens) * avg(load.tokens), 0)), NULL, NULL, NULL,
       CASE WHEN count(before.tokens) = count(*)
            THEN sum(1.0 * load.tokens * before.tokens) /
                 nullif(sqrt(sum(1.0 * load.tokens * load.tokens)) * sqrt(sum(1.0 * before.tokens * before.tokens)), 0) END
FROM expert_load AS load
LEFT JOIN expert_load AS before ON before.run_id = load.run_id AND before.iteration = load.iteration - 1
  AND before.layer = load.layer AND before.expert = load.expert
GROUP BY load.run_id, load.iteration, load.layer;

CREATE VIEW run_view AS
SELECT run.id AS run, run.kind, run.name, run.status, run.error, run.device, run.ranks,
       machine.hostname AS machine, machine.cpu, machine.gpu, nullif(run.planner, '') AS planner, run.started_at,
       coalesce(run.finished_at, run.heartbeat_at) - run.started_at AS duration_s,
       (SELECT max(iteration) FROM iteration WHERE run_id = run.id) AS last_iteration,
       (SELECT loss FROM iteration WHERE run_id = run.id ORDER BY iteration DESC LIMIT 1) AS last_loss,
       run.seed, run.revision, run.schedule_id, nullif(run.layout, '') AS layout
FROM run
JOIN machine ON machine.id = run.machine_id;

-- speedup: the measured sequential trial of the same study over this one's. prediction_error: (predicted - measured) / measured.
CREATE VIEW trial_view AS
SELECT study, trial, planner, parameters, status, error, paper_s, predicted_s, measured_s, lower_bound_s,
       predicted_peak_bytes, measured_peak_bytes, sequential_s, repeats, min_repeat_s, max_repeat_s, started_at,
       finished_at, heartbeat_at, ranks, study_id, schedule_id, sequential_s / measured_s AS speedup,
       (predicted_s - measured_s) / measured_s AS prediction_error, layout
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
             nullif(study.layout, '') AS layout
      FROM trial JOIN study ON study.id = trial.study_id);

CREATE VIEW load_view AS
SELECT run_id AS run, iteration, layer, expert, rank, tokens, asked_tokens, asked_tokens - tokens AS dropped_tokens FROM load;

-- max_over_mean: 1 is even, the number of experts (ranks) the worst. standard_deviation: of the tokens of the experts, in
-- tokens: Pro-Prophet's balance degree. locality: cosine of the angle between the experts' tokens and those of the iteration
-- before: 1 is the same distribution, 0 one without an expert in common.
CREATE VIEW balance_view AS
SELECT run_id AS run, iteration, layer, experts, tokens, max_tokens,
       1.0 * max_tokens * experts / nullif(tokens, 0) AS max_over_mean, dropped_tokens, unused_experts, standard_deviation,
       max_rank_tokens, max_rank_tokens / nullif(mean_rank_tokens, 0) AS rank_max_over_mean, rank_standard_deviation, locality
FROM balance;
