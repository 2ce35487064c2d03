-- The views of moelab's result database. People and notebooks rely on them: a column stays when
-- tables change, and new ones come at the end. Whoever opens a file for writing whose views are not
-- these drops and makes them again; whoever reads sees these in any case (db/schema.h).

CREATE VIEW run_view AS
SELECT run.id AS run, run.kind, run.name, run.status, run.error, run.device, run.ranks,
       machine.hostname AS machine, machine.cpu, machine.gpu, nullif(run.planner, '') AS planner,
       run.started_at,
       max(coalesce(run.finished_at, run.heartbeat_at) - run.started_at, 0) AS duration_s,
       (SELECT max(iteration) FROM iteration WHERE run_id = run.id) AS last_iteration,
       (SELECT loss FROM iteration WHERE run_id = run.id
        ORDER BY iteration DESC LIMIT 1) AS last_loss,
       run.seed, run.revision, run.schedule_id, nullif(run.layout, '') AS layout,
       nullif(schedule.changes_results, '') AS changes_results,
       nullif(run.network, '') AS network, run.peak_flops_per_s, run.balanced_share,
       run.resumes_run_id AS resumes_run
FROM run
JOIN machine ON machine.id = run.machine_id
LEFT JOIN schedule ON schedule.id = run.schedule_id;

-- schedule_id is the schedule in force in the iteration. peak_share is flops_per_s over the rate of
-- the fastest matrix product that moe-bench measured on this machine; NULL where it did not.
-- max_over_mean is that of the MoE layer whose experts are the least even, of the copies that gates
-- asked for (asked_max_over_mean of balance_view).
CREATE VIEW iteration_view AS
SELECT run_id AS run, iteration, loss, auxiliary_loss, heldout_loss, iteration.duration_s, tokens,
       dropped_tokens, tokens / nullif(iteration.duration_s, 0) AS tokens_per_s,
       coalesce(iteration.schedule_id, run.schedule_id) AS schedule_id, z_loss,
       learning_rate, gradient_norm, flops, flops / nullif(iteration.duration_s, 0) AS flops_per_s,
       flops / nullif(iteration.duration_s * run.peak_flops_per_s, 0) AS peak_share, exposed_s,
       (SELECT max(CASE WHEN max_asked_tokens IS NOT NULL
                        THEN 1.0 * max_asked_tokens * experts
                             / nullif(balance.tokens + balance.dropped_tokens, 0)
                        WHEN coalesce(balance.dropped_tokens, 0) = 0
                        THEN 1.0 * max_tokens * experts / nullif(balance.tokens, 0) END)
        FROM balance
        WHERE balance.run_id = iteration.run_id
          AND balance.iteration = iteration.iteration) AS max_over_mean,
       exposed_waiting_s, exposed_bubble_s,
       exposed_s - exposed_waiting_s - exposed_bubble_s AS exposed_transfer_s
FROM iteration JOIN run ON run.id = iteration.run_id;

-- last_loss: of the last iteration of the last repeat. sequential_last_loss: the same of the
-- sequential trial; they compare schedules where changes_results is not NULL, since then all trials
-- are trained alone. Trials in turns share one training, and their last losses are of different
-- iterations of it. loss_difference: the first minus the second. speedup: the
-- measured time of the planner speedup_against over this one's comparable_s, in the same study. The
-- planner is sequential or, where the sequential trial is infeasible or failed, the fastest one.
-- comparable_s: measured_s without what the machine did to the repeats. tied_with: the finished
-- trials that the repeats do not tell from this one. prediction_error: (predicted - measured) /
-- measured, of the trial's first prediction. own_prediction_error: what is left of it without what
-- is common to all first predictions of the study; NULL for a trial that a refinement planned.
-- compute_ratio: how many times as long the same computation took in the trial of speedup_against
-- as in this one, both against the study's profile. equal_speedup: the speed-up if both had
-- computed equally fast: speedup over what the difference in pace is predicted to make of it. That
-- is the ratio of their predicted_slowed_s over the ratio of their first predictions, which are for
-- one pace. NULL where a refinement planned one of the two, which has no such prediction then.
-- min_iteration_s: the shortest iteration of all repeats, warm-up included. pace says in words how
-- much more slowly or faster speedup_against computed; NULL where that is 10% or less, or not known.
CREATE VIEW trial_view AS
WITH pace AS (
       SELECT id, compute_slowdown AS slowdown,
              CASE WHEN json_extract(nullif(parameters_json, ''), '$.refinement') IS NULL
                   THEN coalesce(first_predicted_s, predicted_s) END
                / nullif(predicted_slowed_s, 0) AS predicted_gain
       FROM trial)
SELECT study, trial, planner, parameters, status, error, paper_s, predicted_s, measured_s,
       lower_bound_s, predicted_peak_bytes, measured_peak_bytes, sequential_s, repeats,
       min_repeat_s, max_repeat_s, started_at, finished_at, heartbeat_at, ranks, study_id,
       schedule_id, coalesce(sequential_s, fastest_s) / comparable_s AS speedup,
       (coalesce(first_predicted_s, predicted_s) - measured_s) / measured_s AS prediction_error,
       layout, changes_results,
       last_loss, sequential_last_loss, last_loss - sequential_last_loss AS loss_difference,
       predicted_deviation_s, also_planned_by, first_predicted_s,
       (SELECT planner FROM trial WHERE id = against_id) AS speedup_against, tied_with,
       CASE WHEN json_extract(nullif(parameters, ''), '$.refinement') IS NULL
            THEN (coalesce(first_predicted_s, predicted_s) - measured_s) / measured_s
              - (SELECT common_error FROM prediction_quality
                 WHERE prediction_quality.study_id = each.study_id) END AS own_prediction_error,
       network, comparable_s, compute_slowdown, predicted_slowed_s,
       against.slowdown / nullif(own.slowdown, 0) AS compute_ratio,
       coalesce(sequential_s, fastest_s) / comparable_s * against.predicted_gain
         / nullif(own.predicted_gain, 0) AS equal_speedup,
       bounded_by, slowed_lower_bound_s,
       (SELECT min(iteration.duration_s) FROM trial_repeat
        JOIN iteration ON iteration.run_id = trial_repeat.run_id
        WHERE trial_repeat.trial_id = trial) AS min_iteration_s,
       (SELECT planner FROM trial WHERE id = against_id)
         || CASE WHEN against.slowdown > 1.1 * own.slowdown
                 THEN printf(' computed %.2f times as slowly', against.slowdown / own.slowdown)
                 WHEN own.slowdown > 1.1 * against.slowdown
                 THEN printf(' computed %.2f times as fast', own.slowdown / against.slowdown)
            END AS pace
FROM (SELECT *, CASE WHEN measured_s IS NULL THEN NULL
                     WHEN sequential_id IS NOT NULL THEN sequential_id
                     ELSE (SELECT fastest.id FROM trial AS fastest
                           WHERE fastest.study_id = figures.study_id AND fastest.status = 'done'
                             AND coalesce(fastest.comparable_s, fastest.measured_s) = fastest_s
                           ORDER BY fastest.id LIMIT 1)
                END AS against_id
      FROM (SELECT study.name AS study, trial.id AS trial, trial.planner,
                   trial.parameters_json AS parameters, trial.status, trial.error, trial.paper_s,
                   trial.predicted_s, trial.measured_s,
                   CASE WHEN trial.measured_s IS NOT NULL
                        THEN coalesce(trial.comparable_s, trial.measured_s) END AS comparable_s,
                   trial.compute_slowdown, trial.predicted_slowed_s,
                   nullif(trial.bounded_by, '') AS bounded_by, trial.slowed_lower_bound_s,
                   trial.lower_bound_s, trial.predicted_peak_bytes,
                   trial.measured_peak_bytes, trial.predicted_deviation_s, trial.first_predicted_s,
                   nullif(trial.also_planned_by, '') AS also_planned_by,
                   nullif(trial.tied_with, '') AS tied_with,
                   (SELECT sequential.measured_s FROM trial AS sequential
                    WHERE sequential.study_id = trial.study_id AND sequential.planner = 'sequential'
                      AND sequential.measured_s > 0
                    ORDER BY sequential.measured_s LIMIT 1) AS sequential_s,
                   (SELECT sequential.id FROM trial AS sequential
                    WHERE sequential.study_id = trial.study_id AND sequential.planner = 'sequential'
                      AND sequential.measured_s > 0
                    ORDER BY sequential.measured_s LIMIT 1) AS sequential_id,
                   (SELECT min(coalesce(fastest.comparable_s, fastest.measured_s))
                    FROM trial AS fastest
                    WHERE fastest.study_id = trial.study_id AND fastest.status = 'done'
                      AND fastest.measured_s > 0
                      AND NOT EXISTS (SELECT 1 FROM trial AS sequential
                                      WHERE sequential.study_id = trial.study_id
                                        AND sequential.planner = 'sequential'
                                        AND sequential.status IN ('planned', 'running', 'done'))
                   ) AS fastest_s,
                   (SELECT count(*) FROM trial_repeat WHERE trial_id = trial.id) AS repeats,
                   (SELECT min(measured_s) FROM trial_repeat
                    WHERE trial_id = trial.id) AS min_repeat_s,
                   (SELECT max(measured_s) FROM trial_repeat
                    WHERE trial_id = trial.id) AS max_repeat_s,
                   trial.started_at, trial.finished_at, trial.heartbeat_at, study.ranks,
                   trial.study_id, trial.schedule_id, nullif(study.layout, '') AS layout,
                   nullif(schedule.changes_results, '') AS changes_results,
                   (SELECT run_view.last_loss FROM trial_repeat
                    JOIN run_view ON run_view.run = trial_repeat.run_id
                    WHERE trial_repeat.trial_id = trial.id AND run_view.status = 'done'
                    ORDER BY trial_repeat.repeat DESC LIMIT 1) AS last_loss,
                   (SELECT run_view.last_loss FROM trial AS sequential
                    JOIN trial_repeat ON trial_repeat.trial_id = sequential.id
                    JOIN run_view ON run_view.run = trial_repeat.run_id
                    WHERE sequential.study_id = trial.study_id AND sequential.planner = 'sequential'
                      AND run_view.status = 'done'
                    ORDER BY trial_repeat.repeat DESC LIMIT 1) AS sequential_last_loss,
                   (SELECT run_view.network FROM trial_repeat
                    JOIN run_view ON run_view.run = trial_repeat.run_id
                    WHERE trial_repeat.trial_id = trial.id
                    ORDER BY trial_repeat.repeat DESC LIMIT 1) AS network
            FROM trial
            JOIN study ON study.id = trial.study_id
            LEFT JOIN schedule ON schedule.id = trial.schedule_id) AS figures) AS each
LEFT JOIN pace AS own ON own.id = each.trial
LEFT JOIN pace AS against ON against.id = each.against_id;

-- The fastest finished trial of every study, and how good its predictions were, as the table
-- prediction_quality has it.
CREATE VIEW study_view AS
SELECT study.name AS study, study.id AS study_id, study.ranks, nullif(study.layout, '') AS layout,
       study.created_at, (SELECT count(*) FROM trial WHERE study_id = study.id) AS trials,
       (SELECT count(*) FROM trial
        WHERE study_id = study.id AND status = 'done') AS finished_trials,
       best.planner AS fastest, best.parameters_json AS fastest_parameters, best.measured_s,
       nullif(best.tied_with, '') AS tied_with, quality.mean_error AS mean_prediction_error,
       quality.worst_error AS worst_prediction_error,
       quality.common_error AS common_prediction_error, quality.common_share,
       quality.kendall_tau, quality.kendall_tau_told_apart, quality.regret,
       quality.within_deviation, quality.compute_slowdown,
       quality.mean_slowed_error AS mean_slowed_prediction_error,
       quality.worst_slowed_error AS worst_slowed_prediction_error
FROM study
LEFT JOIN trial AS best ON best.id = (SELECT id FROM trial
                                      WHERE study_id = study.id AND status = 'done'
                                        AND measured_s > 0
                                      ORDER BY coalesce(comparable_s, measured_s), id LIMIT 1)
LEFT JOIN prediction_quality AS quality ON quality.study_id = study.id;

CREATE VIEW timeline_view AS
SELECT timeline.id AS timeline, timeline.run_id AS run, timeline.trial_id AS trial,
       study.name AS study, coalesce(trial.planner, nullif(run.planner, '')) AS planner,
       timeline.kind, timeline.label, timeline.iteration, timeline.duration_s
FROM timeline
LEFT JOIN run ON run.id = timeline.run_id
LEFT JOIN trial ON trial.id = timeline.trial_id
LEFT JOIN study ON study.id = trial.study_id;

-- waiting_s is how long a communication waited until the last rank of its group began it, and
-- transfer_s the rest of it. Both are NULL for other ops, and in timelines that do not say which
-- ranks communicate. bandwidth_bytes_per_s is of the transfer where that is known.
CREATE VIEW span_view AS
SELECT timeline.run_id AS run, timeline.trial_id AS trial, span.timeline_id AS timeline,
       timeline.kind AS timeline_kind, timeline.iteration, span.rank, span.op, timeline_op.name,
       timeline_op.kind, timeline_op.stream, timeline_op.phase, timeline_op.layer,
       timeline_op.chunk, timeline_op.chunks, span.start_s, span.duration_s,
       span.start_s + span.duration_s AS end_s, span.bytes, span.flops,
       span.bytes / nullif(span.duration_s - coalesce(span.waiting_s, 0), 0)
         AS bandwidth_bytes_per_s,
       span.flops / nullif(span.duration_s, 0) AS flops_per_s, timeline_op.activity,
       span.waiting_s, span.duration_s - span.waiting_s AS transfer_s
FROM span
JOIN timeline ON timeline.id = span.timeline_id
JOIN timeline_op ON timeline_op.timeline_id = span.timeline_id AND timeline_op.op = span.op;

-- Seconds during which at least one op of an activity ran on a rank. They add up to more than the
-- whole where activities overlap. exposed_s: the part of communication_s during which no
-- computation ran. Of it exposed_waiting_s is when all communications waited for other ranks, and
-- exposed_bubble_s when they waited for ranks of other pipeline stages; exposed_transfer_s is the
-- rest. WHERE timeline = N reads that timeline alone.
CREATE VIEW activity_view AS
WITH part AS (  -- of a communication two: the wait for the last rank of its group, and the transfer
       SELECT span.timeline_id AS timeline, span.rank, span.op,
              span.start_s + coalesce(span.waiting_s, 0) AS start_s,
              span.start_s + span.duration_s AS end_s, timeline_op.activity AS does,
              timeline_op.activity
       FROM span
       JOIN timeline_op ON timeline_op.timeline_id = span.timeline_id AND timeline_op.op = span.op
       UNION ALL
       SELECT span.timeline_id, span.rank, span.op, span.start_s, span.start_s + span.waiting_s,
              CASE WHEN group_kind IN ('even_boundary', 'odd_boundary', 'ends') THEN 'bubble'
                   ELSE 'waiting' END, timeline_op.activity
       FROM span
       JOIN timeline_op ON timeline_op.timeline_id = span.timeline_id AND timeline_op.op = span.op
       WHERE span.waiting_s > 0),
     edge AS (
       SELECT timeline, rank, start_s AS at_s, 1 AS step, op, does, activity FROM part
       UNION ALL
       SELECT timeline, rank, end_s, -1, op, does, activity FROM part),
     level AS (
       SELECT timeline, rank, lead(at_s) OVER ordered - at_s AS length_s,
              sum(step * (activity = 'computation')) OVER ordered AS computing,
              sum(step * (activity = 'communication')) OVER ordered AS communicating,
              sum(step * (activity = 'copy')) OVER ordered AS copying,
              sum(step * (does = 'communication')) OVER ordered AS transferring,
              sum(step * (does = 'waiting')) OVER ordered AS waiting
       FROM edge
       WINDOW ordered AS
         (PARTITION BY timeline, rank ORDER BY at_s, step, op ROWS UNBOUNDED PRECEDING))
SELECT timeline, rank, total(length_s * (computing > 0)) AS computation_s,
       total(length_s * (communicating > 0)) AS communication_s,
       total(length_s * (communicating > 0 AND computing = 0)) AS exposed_s,
       total(length_s * (copying > 0)) AS copy_s,
       total(length_s * (transferring > 0 AND computing = 0)) AS exposed_transfer_s,
       total(length_s * (waiting > 0 AND transferring = 0 AND computing = 0)) AS exposed_waiting_s,
       total(length_s * (communicating > 0 AND transferring = 0 AND waiting = 0 AND computing = 0))
         AS exposed_bubble_s
FROM level GROUP BY timeline, rank;

-- The memory that a rank sets aside for each tensor, from offset_bytes on in the memory of its pool,
-- and when it is in use. first_op and last_op use it; they are NULL where it is in use all the time.
CREATE VIEW allocation_view AS
SELECT timeline.run_id AS run, timeline.trial_id AS trial, allocation.timeline_id AS timeline,
       timeline.kind AS timeline_kind, timeline.iteration, allocation.rank, timeline_tensor.pool,
       timeline_tensor.role, timeline_tensor.name, allocation.tensor, allocation.bytes,
       allocation.offset_bytes, coalesce(allocation.begin_s, 0.0) AS begin_s,
       coalesce(allocation.end_s, timeline.duration_s) AS end_s, allocation.first_op,
       allocation.last_op
FROM allocation
JOIN timeline ON timeline.id = allocation.timeline_id
JOIN timeline_tensor ON timeline_tensor.timeline_id = allocation.timeline_id
                    AND timeline_tensor.tensor = allocation.tensor;

-- The bytes in use from at_s on until the next row of the rank and pool. WHERE timeline = N reads
-- that timeline alone.
CREATE VIEW memory_view AS
WITH change AS (
       SELECT timeline, rank, pool, begin_s AS at_s, bytes FROM allocation_view
       UNION ALL
       SELECT timeline, rank, pool, end_s, -bytes FROM allocation_view)
SELECT timeline, rank, pool, at_s,
       sum(sum(bytes)) OVER (PARTITION BY timeline, rank, pool ORDER BY at_s) AS bytes
FROM change GROUP BY timeline, rank, pool, at_s;

CREATE VIEW load_view AS
SELECT run_id AS run, iteration, layer, expert, rank, sum(tokens) AS tokens,
       CASE WHEN count(asked_tokens) = count(*) THEN sum(asked_tokens) END AS asked_tokens,
       CASE WHEN count(asked_tokens) = count(*)
            THEN sum(asked_tokens) - sum(tokens) END AS dropped_tokens
FROM load
GROUP BY run_id, iteration, layer, expert, rank;

-- The loads of ranks, for iterations whose loads are stored. tokens counts those whose expert
-- belongs to the rank, asked_tokens the same before those over capacity were dropped, placed_tokens
-- those that the rank computed where experts were replicated or moved. replicas lists the experts of
-- other ranks that it holds, with ", " between them.
CREATE VIEW rank_load_view AS
SELECT run_id AS run, iteration, layer, rank, tokens, asked_tokens, placed_tokens,
       (SELECT group_concat(expert, ', ') FROM
          (SELECT expert FROM expert_place AS place
           WHERE place.run_id = rank_load.run_id AND place.iteration = rank_load.iteration
             AND place.layer = rank_load.layer AND place.rank = rank_load.rank
             AND place.replica = 1 ORDER BY expert)) AS replicas
FROM rank_load;

-- max_over_mean: 1 is even, the number of experts (ranks) is the worst. standard_deviation: of the
-- tokens of the experts, in tokens: Pro-Prophet's balance degree. locality: the cosine of the angle
-- between what gates asked for and what they did in the iteration before: 1 is the same
-- distribution, 0 one without an expert in common. max_over_mean and standard_deviation are of what
-- was kept. rank_: of the tokens whose expert belongs to a rank. placed_rank_:
-- of those that the rank computed, where experts were replicated. balance_ratio: the two standard
-- deviations over ranks, before over after (Pro-Prophet's RB). asked_: before tokens over capacity
-- were dropped, of the experts; tokens and max_tokens are what was kept.
CREATE VIEW balance_view AS
SELECT run_id AS run, iteration, layer, experts, tokens, max_tokens,
       1.0 * max_tokens * experts / nullif(tokens, 0) AS max_over_mean, dropped_tokens,
       unused_experts, standard_deviation, max_rank_tokens,
       max_rank_tokens / nullif(mean_rank_tokens, 0) AS rank_max_over_mean,
       rank_standard_deviation, locality, placed_max_rank_tokens,
       placed_max_rank_tokens / nullif(mean_rank_tokens, 0) AS placed_rank_max_over_mean,
       placed_rank_standard_deviation,
       rank_standard_deviation / nullif(placed_rank_standard_deviation, 0) AS balance_ratio,
       tokens + dropped_tokens AS asked_tokens, max_asked_tokens,
       1.0 * max_asked_tokens * experts / nullif(tokens + dropped_tokens, 0)
         AS asked_max_over_mean
FROM balance;

-- r2 is NULL where the line goes through all samples. machine: on which it was fitted; measured_on:
-- on which the samples were measured. verdict: 'good', or what is wrong with the line.
CREATE VIEW fit_view AS
SELECT fit.id AS fit, fit.op, fit.device, fit.ranks, fit.link, fit.alpha_s, fit.beta_s_per_unit,
       fit.unit,
       CASE WHEN fit.samples > 2 OR fit.relative_deviation IS NOT NULL THEN fit.r2 END AS r2,
       fit.samples, fit.max_relative_residual,
       1.0 / nullif(fit.beta_s_per_unit, 0) AS units_per_s, fit.min_units, fit.max_units,
       machine.hostname AS machine, fit.run_id AS run, run.started_at, fit.relative_deviation,
       measured_on.hostname AS measured_on, nullif(fit.network, '') AS network,
       nullif(fit.nodes, 0) AS nodes, fit.alpha_error_s, fit.beta_error_s_per_unit, fit.outliers,
       nullif(fit.verdict, '') AS verdict
FROM fit
JOIN run ON run.id = fit.run_id
JOIN machine ON machine.id = run.machine_id
JOIN machine AS measured_on ON measured_on.id = coalesce(fit.machine_id, run.machine_id);

CREATE VIEW measurement_view AS
SELECT measurement.id AS measurement, measurement.op, measurement.device, measurement.dtype,
       measurement.ranks, measurement.parameters_json AS parameters, measurement.bytes,
       measurement.count, measurement.flops, measurement.time_s, measurement.min_s,
       measurement.max_s, measurement.samples, measurement.algorithm_bandwidth_bytes_per_s,
       measurement.bus_bandwidth_bytes_per_s,
       measurement.flops / nullif(measurement.time_s, 0) AS flops_per_s, measurement.wrong,
       machine.hostname AS machine, measurement.run_id AS run, run.started_at,
       measurement.relative_deviation, nullif(run.network, '') AS network,
       (SELECT nullif(count(DISTINCT node), 0) FROM run_rank
        WHERE run_rank.run_id = run.id) AS nodes
FROM measurement
JOIN run ON run.id = measurement.run_id
JOIN machine ON machine.id = run.machine_id;

-- speed: of a call of `activity` while `beside` runs too, over its speed alone: MPMoE's alpha(y,
-- x). overlap: the least share of the calls' time during which the other ran. processors: seconds
-- of processor time in a second, wakes: how often a thread that slept or waited woke, preempted:
-- how often a thread was put aside though it had work; all of rank 0's threads, and NULL where that
-- was not measured.
CREATE VIEW interference_view AS
SELECT measurement.id AS measurement, measurement.parameters_json ->> 'activity' AS activity,
       measurement.parameters_json ->> 'beside' AS beside,
       measurement.parameters_json ->> 'alone_s' / measurement.time_s AS speed,
       measurement.parameters_json ->> 'alone_s' AS alone_s, measurement.time_s,
       measurement.parameters_json ->> 'overlap' AS overlap, measurement.device,
       measurement.dtype, measurement.ranks, measurement.bytes, measurement.flops,
       measurement.samples, measurement.wrong, machine.hostname AS machine,
       measurement.run_id AS run, run.started_at,
       measurement.parameters_json ->> '$.use.processors' AS processors,
       measurement.parameters_json ->> '$.use.wakes_per_s' AS wakes_per_s,
       measurement.parameters_json ->> '$.use.preempted_per_s' AS preempted_per_s,
       measurement.parameters_json ->> '$.use_beside.processors' AS processors_beside,
       measurement.parameters_json ->> '$.use_beside.wakes_per_s' AS wakes_beside_per_s,
       measurement.parameters_json ->> '$.use_beside.preempted_per_s' AS preempted_beside_per_s,
       measurement.relative_deviation, nullif(run.network, '') AS network
FROM measurement
JOIN run ON run.id = measurement.run_id
JOIN machine ON machine.id = run.machine_id
WHERE measurement.op = 'interference';

-- difference: value over paper_value, less 1; NULL where either is missing or the paper's is 0.
CREATE VIEW figure_view AS
SELECT figure.paper, figure.place, figure.setting, figure.system, figure.quantity,
       figure.paper_value, figure.value, figure.value / nullif(figure.paper_value, 0) - 1 AS difference,
       figure.basis, figure.run_id AS run, run.name, run.started_at, run.revision
FROM figure
JOIN run ON run.id = figure.run_id;
