-- Version 6: interference, how sure predictions are, and the balance of the tokens that ranks computed where experts were
-- replicated.

-- Standard deviation of (fitted - measured) / measured; NULL where there were no more samples than coefficients, or where it
-- was not stored.
ALTER TABLE fit ADD COLUMN relative_deviation REAL CHECK (relative_deviation >= 0);

-- Standard deviation that a prediction is expected to have, seconds; NULL where nothing says how sure it is.
ALTER TABLE trial ADD COLUMN predicted_deviation_s REAL CHECK (predicted_deviation_s >= 0);

DROP VIEW fit_view;
CREATE VIEW fit_view AS
SELECT fit.id AS fit, fit.op, fit.device, fit.ranks, fit.link, fit.alpha_s, fit.beta_s_per_unit, fit.unit, fit.r2,
       fit.samples, fit.max_relative_residual, 1.0 / nullif(fit.beta_s_per_unit, 0) AS units_per_s,
       fit.min_units, fit.max_units, machine.hostname AS machine, fit.run_id AS run, run.started_at, fit.relative_deviation
FROM fit JOIN run ON run.id = fit.run_id JOIN machine ON machine.id = run.machine_id;

-- speed: of a call of `activity` while `beside` runs too, over its speed alone: MPMoE's alpha(y, x). overlap: the least share of
-- the calls' time during which what is beside them ran.
CREATE VIEW interference_view AS
SELECT measurement.id AS measurement, measurement.parameters_json ->> 'activity' AS activity,
       measurement.parameters_json ->> 'beside' AS beside,
       measurement.parameters_json ->> 'alone_s' / measurement.time_s AS speed,
       measurement.parameters_json ->> 'alone_s' AS alone_s, measurement.time_s, measurement.parameters_json ->> 'overlap' AS overlap,
       measurement.device, measurement.dtype, measurement.ranks, measurement.bytes, measurement.flops, measurement.samples,
       measurement.wrong, machine.hostname AS machine, measurement.run_id AS run, run.started_at
FROM measurement JOIN run ON run.id = measurement.run_id JOIN machine ON machine.id = run.machine_id
WHERE measurement.op = 'interference';

-- last_loss: of the last iteration of the last repeat; sequential_last_loss: the same of the sequential trial, which it should
-- be equal to but where changes_results is not NULL, or where the text that is trained on changed meanwhile; loss_difference: by how much it is above that. speedup: the measured
-- sequential trial of the same study over this one's. prediction_error: (predicted - measured) / measured.
DROP VIEW trial_view;
CREATE VIEW trial_view AS
SELECT study, trial, planner, parameters, status, error, paper_s, predicted_s, measured_s, lower_bound_s,
       predicted_peak_bytes, measured_peak_bytes, sequential_s, repeats, min_repeat_s, max_repeat_s, started_at,
       finished_at, heartbeat_at, ranks, study_id, schedule_id, sequential_s / measured_s AS speedup,
       (predicted_s - measured_s) / measured_s AS prediction_error, layout, changes_results, last_loss, sequential_last_loss,
       last_loss - sequential_last_loss AS loss_difference, predicted_deviation_s
FROM (SELECT study.name AS study, trial.id AS trial, trial.planner, trial.parameters_json AS parameters, trial.status,
             trial.error, trial.paper_s, trial.predicted_s, trial.measured_s, trial.lower_bound_s,
             trial.predicted_peak_bytes, trial.measured_peak_bytes, trial.predicted_deviation_s,
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

-- As max_rank_tokens and rank_standard_deviation, which are of experts where they belong: of who computed the tokens.
-- NULL where no expert of the layer was replicated.
ALTER TABLE balance ADD COLUMN placed_max_rank_tokens INTEGER;
ALTER TABLE balance ADD COLUMN placed_rank_standard_deviation REAL;

-- max_over_mean: 1 is even, the number of experts (ranks) the worst. standard_deviation: of the tokens of the experts, in
-- tokens: Pro-Prophet's balance degree. locality: cosine of the angle between the experts' tokens and those of the iteration
-- before: 1 is the same distribution, 0 one without an expert in common. rank_...: of the tokens whose expert belongs to a rank;
-- placed_rank_...: of those that it computed, where experts were replicated. balance_ratio: of the two standard deviations,
-- before over after (Pro-Prophet's RB).
DROP VIEW balance_view;
CREATE VIEW balance_view AS
SELECT run_id AS run, iteration, layer, experts, tokens, max_tokens,
       1.0 * max_tokens * experts / nullif(tokens, 0) AS max_over_mean, dropped_tokens, unused_experts, standard_deviation,
       max_rank_tokens, max_rank_tokens / nullif(mean_rank_tokens, 0) AS rank_max_over_mean, rank_standard_deviation, locality,
       placed_max_rank_tokens, placed_max_rank_tokens / nullif(mean_rank_tokens, 0) AS placed_rank_max_over_mean,
       placed_rank_standard_deviation,
       rank_standard_deviation / nullif(placed_rank_standard_deviation, 0) AS balance_ratio
FROM balance;
