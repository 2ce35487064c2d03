-- The views of moelab's result database. People and notebooks rely on them: a column stays when
-- tables change, and new ones come at the end. Whoever opens a file for writing whose views are not
-- these drops and makes them again; whoever reads sees these in any case (db/schema.h). What columns
-- mean stands in columns.md.

-- training_run: the first of the runs that shared one training, as schedules in turns do; they
-- begin at one instant in one process.
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
       run.resumes_run_id AS resumes_run,
       CASE WHEN run.kind = 'train'
            THEN (SELECT min(id) FROM run AS beside
                  WHERE beside.started_at = run.started_at AND beside.pid = run.pid
                    AND beside.kind = 'train') END AS training_run,
       (SELECT max(max(coalesce(beside.finished_at, beside.heartbeat_at) - run.started_at, 0))
               * CASE WHEN total(iteration.duration_s) > 0
                      THEN total(iteration.duration_s * (iteration.run_id = run.id))
                           / total(iteration.duration_s)
                      ELSE 1.0 / count(DISTINCT beside.id) END
        FROM run AS beside LEFT JOIN iteration ON iteration.run_id = beside.id
        WHERE beside.started_at = run.started_at AND beside.pid = run.pid
          AND beside.kind = run.kind) AS share_s,
       nullif(run.model_json, '') ->> 'name' AS model,
       coalesce((SELECT group_concat(hostname, ', ')
                 FROM (SELECT hostname FROM run_rank WHERE run_id = run.id
                       GROUP BY hostname ORDER BY min(node))), machine.hostname) AS hosts,
       machine.cores || iif(machine.cores = 1, ' core of ', ' cores of ') || machine.cpu || ', '
         || cast(round(machine.memory_bytes / 1073741824.0) AS INTEGER) || ' GiB'
         || iif(machine.gpu = '', '', ', ' || machine.gpu_count || ' x ' || machine.gpu) AS machine_class
FROM run
JOIN machine ON machine.id = run.machine_id
LEFT JOIN schedule ON schedule.id = run.schedule_id;

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

-- Last losses compare schedules where changes_results is not NULL, since then all trials are trained
-- alone. Trials in turns share one training, and their last losses are of different iterations of it.
CREATE VIEW trial_view AS
SELECT study, trial, planner, parameters, status, error, paper_s, predicted_s, measured_s,
       lower_bound_s, predicted_peak_bytes, measured_peak_bytes, sequential_s, repeats,
       min_repeat_s, max_repeat_s, started_at, finished_at, heartbeat_at, ranks, study_id,
       schedule_id, coalesce(sequential_s, fastest_s) / measured_s AS speedup,
       (coalesce(first_predicted_s, predicted_s) - measured_s) / measured_s AS prediction_error,
       layout, changes_results,
       last_loss, sequential_last_loss, last_loss - sequential_last_loss AS loss_difference,
       predicted_deviation_s, also_planned_by, first_predicted_s,
       (SELECT planner FROM trial WHERE id = against_id) AS speedup_against, tied_with,
       CASE WHEN json_extract(nullif(parameters, ''), '$.refinement') IS NULL
            THEN (coalesce(first_predicted_s, predicted_s) - measured_s) / measured_s
              - (SELECT common_error FROM prediction_quality
                 WHERE prediction_quality.study_id = each.study_id) END AS own_prediction_error,
       network, least_speedup, most_speedup, bounded_by,
       (SELECT min(iteration.duration_s) FROM trial_repeat
        JOIN iteration ON iteration.run_id = trial_repeat.run_id
        WHERE trial_repeat.trial_id = trial) AS min_iteration_s,
       failure, model,
       (SELECT nullif(revision, '') FROM run WHERE id = last_run) AS revision,
       (SELECT hosts FROM run_view WHERE run = last_run) AS hosts,
       (SELECT machine_class FROM run_view WHERE run = last_run) AS machine_class, part_of
FROM (SELECT *, CASE WHEN measured_s IS NULL THEN NULL
                     WHEN sequential_id IS NOT NULL THEN sequential_id
                     ELSE (SELECT fastest.id FROM trial AS fastest
                           WHERE fastest.study_id = figures.study_id AND fastest.status = 'done'
                             AND fastest.measured_s = fastest_s
                           ORDER BY fastest.id LIMIT 1)
                END AS against_id
      FROM (SELECT study.name AS study, trial.id AS trial, trial.planner,
                   trial.parameters_json AS parameters, trial.status, trial.error, trial.paper_s,
                   trial.predicted_s, trial.measured_s,
                   trial.least_speedup, trial.most_speedup,
                   nullif(trial.bounded_by, '') AS bounded_by,
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
                   (SELECT min(fastest.measured_s) FROM trial AS fastest
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
                    ORDER BY trial_repeat.repeat DESC LIMIT 1) AS network,
                   nullif(trial.failure, '') AS failure,
                   nullif(study.model_json, '') ->> 'name' AS model,
                   nullif(study.part_of, '') AS part_of,
                   (SELECT run_id FROM trial_repeat
                    WHERE trial_id = trial.id AND run_id IS NOT NULL
                    ORDER BY repeat DESC LIMIT 1) AS last_run
            FROM trial
            JOIN study ON study.id = trial.study_id
            LEFT JOIN schedule ON schedule.id = trial.schedule_id) AS figures) AS each;

CREATE VIEW study_view AS
WITH measured AS (  -- the runs of a study: its profile and its repeats
       SELECT study.id AS study_id, profile.value AS run
       FROM study, json_each(nullif(study.profile_runs_json, '')) AS profile
       UNION
       SELECT trial.study_id, trial_repeat.run_id
       FROM trial JOIN trial_repeat ON trial_repeat.trial_id = trial.id)
SELECT study.name AS study, study.id AS study_id, study.ranks, nullif(study.layout, '') AS layout,
       study.created_at, (SELECT count(*) FROM trial WHERE study_id = study.id) AS trials,
       (SELECT count(*) FROM trial
        WHERE study_id = study.id AND status = 'done') AS finished_trials,
       best.planner AS fastest, best.parameters_json AS fastest_parameters, best.measured_s,
       nullif(best.tied_with, '') AS tied_with, quality.mean_error AS mean_prediction_error,
       quality.worst_error AS worst_prediction_error,
       quality.common_error AS common_prediction_error, quality.common_share,
       quality.kendall_tau, quality.kendall_tau_told_apart, quality.regret,
       quality.within_deviation,
       nullif(study.model_json, '') ->> 'name' AS model,
       (SELECT group_concat(value, '; ') FROM
          (SELECT DISTINCT revision AS value FROM measured JOIN run ON run.id = measured.run
           WHERE measured.study_id = study.id AND revision <> '')) AS revision,
       (SELECT group_concat(value, '; ') FROM
          (SELECT DISTINCT hosts AS value FROM measured JOIN run_view USING (run)
           WHERE measured.study_id = study.id)) AS hosts,
       (SELECT group_concat(value, '; ') FROM
          (SELECT DISTINCT network AS value FROM measured JOIN run ON run.id = measured.run
           WHERE measured.study_id = study.id AND network <> '')) AS network,
       (SELECT group_concat(value, '; ') FROM
          (SELECT DISTINCT machine_class AS value FROM measured JOIN run_view USING (run)
           WHERE measured.study_id = study.id)) AS machine_class,
       nullif(study.part_of, '') AS part_of
FROM study
LEFT JOIN trial AS best ON best.id = (SELECT id FROM trial
                                      WHERE study_id = study.id AND status = 'done'
                                        AND measured_s > 0
                                      ORDER BY measured_s, id LIMIT 1)
LEFT JOIN prediction_quality AS quality ON quality.study_id = study.id;

CREATE VIEW trial_fit_view AS
WITH used AS (
       SELECT id AS trial, study_id, planner, 'predicted' AS costs,
              (SELECT max(refinement) FROM study_costs
               WHERE study_costs.study_id = trial.study_id) AS refinement
       FROM trial WHERE predicted_s IS NOT NULL
       UNION ALL
       SELECT id, study_id, planner, 'first_predicted', 0
       FROM trial WHERE first_predicted_s IS NOT NULL
       UNION ALL
       SELECT id, study_id, planner, 'planned', nullif(parameters_json, '') ->> 'refinement'
       FROM trial WHERE nullif(parameters_json, '') ->> 'refinement' IS NOT NULL)
SELECT study.name AS study, used.trial, used.planner, used.costs, used.refinement, fit.key AS fit,
       fit.value ->> 'alpha_s' AS alpha_s, fit.value ->> 'beta_s_per_unit' AS beta_s_per_unit,
       fit.value ->> 'unit' AS unit, fit.value ->> 'r2' AS r2, fit.value ->> 'samples' AS samples,
       fit.value ->> 'min_units' AS min_units, fit.value ->> 'max_units' AS max_units,
       fit.value ->> 'relative_deviation' AS relative_deviation
FROM used
JOIN study ON study.id = used.study_id
JOIN study_costs ON study_costs.study_id = used.study_id
                AND study_costs.refinement = used.refinement
JOIN json_each(study_costs.cost_model_json, '$.fits') AS fit;

CREATE VIEW timeline_view AS
SELECT timeline.id AS timeline, timeline.run_id AS run, timeline.trial_id AS trial,
       study.name AS study, coalesce(trial.planner, nullif(run.planner, '')) AS planner,
       timeline.kind, timeline.label, timeline.iteration, timeline.duration_s
FROM timeline
LEFT JOIN run ON run.id = timeline.run_id
LEFT JOIN trial ON trial.id = timeline.trial_id
LEFT JOIN study ON study.id = trial.study_id;

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

CREATE VIEW activity_view AS
SELECT timeline_id AS timeline, rank, computation_s, communication_s, exposed_s, copy_s,
       exposed_s - exposed_waiting_s - exposed_bubble_s AS exposed_transfer_s, exposed_waiting_s,
       exposed_bubble_s
FROM rank_activity;

CREATE VIEW op_activity_view AS
SELECT timeline.run_id AS run, timeline.trial_id AS trial, op_activity.timeline_id AS timeline,
       timeline.kind AS timeline_kind, timeline.iteration, op_activity.rank, op_activity.layer,
       op_activity.phase, op_activity.kind, op_activity.activity, op_activity.spans,
       op_activity.busy_s, op_activity.exposed_s,
       op_activity.exposed_s - op_activity.exposed_waiting_s - op_activity.exposed_bubble_s
         AS exposed_transfer_s,
       op_activity.exposed_waiting_s, op_activity.exposed_bubble_s, op_activity.waiting_s,
       op_activity.busy_s - op_activity.waiting_s AS transfer_s, op_activity.bytes,
       op_activity.flops
FROM op_activity
JOIN timeline ON timeline.id = op_activity.timeline_id;

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

-- The bytes in use from at_s on until the next row of the rank and pool. DISTINCT, since rows of one
-- at_s have one sum, and GROUP BY would keep SQLite from reading a timeline alone.
CREATE VIEW memory_view AS
SELECT DISTINCT timeline, rank, pool, at_s,
       sum(bytes) OVER (PARTITION BY timeline, rank, pool ORDER BY at_s) AS bytes
FROM (SELECT timeline, rank, pool, begin_s AS at_s, bytes FROM allocation_view
      UNION ALL
      SELECT timeline, rank, pool, end_s, -bytes FROM allocation_view);

CREATE VIEW load_view AS
SELECT run_id AS run, iteration, layer, expert, rank, sum(tokens) AS tokens,
       CASE WHEN count(asked_tokens) = count(*) THEN sum(asked_tokens) END AS asked_tokens,
       CASE WHEN count(asked_tokens) = count(*)
            THEN sum(asked_tokens) - sum(tokens) END AS dropped_tokens
FROM load
GROUP BY run_id, iteration, layer, expert, rank;

CREATE VIEW rank_load_view AS
SELECT run_id AS run, iteration, layer, rank, tokens, asked_tokens, placed_tokens,
       (SELECT group_concat(expert, ', ') FROM
          (SELECT expert FROM expert_place AS place
           WHERE place.run_id = rank_load.run_id AND place.iteration = rank_load.iteration
             AND place.layer = rank_load.layer AND place.rank = rank_load.rank
             AND place.replica = 1 ORDER BY expert)) AS replicas
FROM rank_load;

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

CREATE VIEW fit_view AS
SELECT fit.id AS fit, fit.op, fit.device, fit.ranks, fit.link, fit.alpha_s, fit.beta_s_per_unit,
       fit.unit,
       CASE WHEN fit.samples > 2 OR fit.relative_deviation IS NOT NULL THEN fit.r2 END AS r2,
       fit.samples, fit.max_relative_residual,
       1.0 / nullif(fit.beta_s_per_unit, 0) AS units_per_s, fit.min_units, fit.max_units,
       machine.hostname AS machine, fit.run_id AS run, run.started_at, fit.relative_deviation,
       measured_on.hostname AS measured_on, nullif(fit.network, '') AS network,
       nullif(fit.nodes, 0) AS nodes, fit.alpha_error_s, fit.beta_error_s_per_unit, fit.outliers,
       nullif(fit.verdict, '') AS verdict, nullif(fit.points_json, '') AS points
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
        WHERE run_rank.run_id = run.id) AS nodes,
       samples.p95_s, samples.quantiles_json AS quantiles, run.revision, machine.cpu,
       machine.cores, machine.memory_bytes, machine.gpu
FROM measurement
JOIN run ON run.id = measurement.run_id
JOIN machine ON machine.id = run.machine_id
LEFT JOIN measurement_samples AS samples ON samples.measurement_id = measurement.id;

-- The time that each rank took for the calls of a measurement, and where it ran. over_fastest: over
-- the time of the fastest rank. flops_per_s: of the rank; NULL where nothing is multiplied.
CREATE VIEW measurement_rank_view AS
SELECT measurement.id AS measurement, measurement.run_id AS run, measurement.op,
       measurement.device, measurement.dtype, measurement.ranks,
       measurement.parameters_json AS parameters, measurement.bytes, measurement_rank.rank,
       run_rank.hostname AS host, run_rank.node, measurement_rank.time_s, measurement_rank.min_s,
       measurement_rank.max_s,
       measurement_rank.time_s / nullif((SELECT min(time_s) FROM measurement_rank AS other
         WHERE other.measurement_id = measurement.id), 0) AS over_fastest,
       nullif(measurement.flops, 0) / nullif(measurement_rank.time_s, 0) AS flops_per_s,
       run.started_at
FROM measurement_rank
JOIN measurement ON measurement.id = measurement_rank.measurement_id
JOIN run ON run.id = measurement.run_id
LEFT JOIN run_rank ON run_rank.run_id = run.id AND run_rank.rank = measurement_rank.rank;

-- Messages from one rank to another (moe-bench pairs), one way. from_host, to_host: where the two
-- run.
CREATE VIEW pair_view AS
SELECT measurement.id AS measurement, measurement.run_id AS run,
       measurement.parameters_json ->> 'from' AS from_rank,
       measurement.parameters_json ->> 'to' AS to_rank,
       measurement.parameters_json ->> 'from_host' AS from_host,
       measurement.parameters_json ->> 'to_host' AS to_host, measurement.device,
       measurement.bytes, measurement.time_s, measurement.min_s, measurement.max_s,
       measurement.samples, measurement.relative_deviation,
       measurement.algorithm_bandwidth_bytes_per_s AS bandwidth_bytes_per_s,
       nullif(run.network, '') AS network, run.started_at
FROM measurement
JOIN run ON run.id = measurement.run_id
WHERE measurement.op = 'ping_pong';

-- How fast bytes travelled from one computer to another in the exchanges of a training. busy_s: over
-- all pairs of ranks. of_median: over the median of the run's pairs of computers.
CREATE VIEW link_view AS
WITH host_pair AS (
  SELECT run_link.run_id, sender.hostname AS from_host, receiver.hostname AS to_host,
         sum(run_link.transfers) AS transfers, sum(run_link.bytes) AS bytes,
         sum(run_link.busy_s) AS busy_s,
         sum(run_link.bytes) / nullif(sum(run_link.bytes / nullif(bandwidth_bytes_per_s, 0)), 0)
           AS bandwidth_bytes_per_s
  FROM run_link
  JOIN run_rank AS sender ON sender.run_id = run_link.run_id AND sender.rank = from_rank
  JOIN run_rank AS receiver ON receiver.run_id = run_link.run_id AND receiver.rank = to_rank
  WHERE sender.hostname <> receiver.hostname
  GROUP BY run_link.run_id, sender.hostname, receiver.hostname),
ranked AS (
  SELECT *, row_number() OVER (PARTITION BY run_id ORDER BY bandwidth_bytes_per_s) AS place,
         count(*) OVER (PARTITION BY run_id) AS pairs
  FROM host_pair)
SELECT run_id AS run, from_host, to_host, transfers, bytes, busy_s, bandwidth_bytes_per_s,
       bandwidth_bytes_per_s / avg(bandwidth_bytes_per_s)
         FILTER (WHERE place IN ((pairs + 1) / 2, (pairs + 2) / 2)) OVER (PARTITION BY run_id)
         AS of_median,
       nullif(run.network, '') AS network, run.started_at
FROM ranked
JOIN run ON run.id = run_id;

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

-- on_front: 1 where no setup of the same run, settings and ranks is both as fast and as lean, and
-- better in one of the two.
CREATE VIEW setup_view AS
SELECT setup.run_id AS run, run.name AS model, nullif(setup.settings, '') AS settings, setup.ranks,
       setup.place, setup.layout, setup.micro_batches, setup.batch_per, setup.micro_batch_order,
       setup.planner, setup.predicted_s, setup.tokens_per_s, setup.peak_share,
       iif(setup.shard_optimizer, 'yes', 'no') AS shard_optimizer, setup.restored_blocks,
       setup.parameter_bytes, setup.gradient_bytes, setup.optimizer_bytes, setup.activation_bytes,
       setup.buffer_bytes, setup.predicted_peak_bytes, setup.memory_limit_bytes,
       setup.lower_bound_s, nullif(setup.bounded_by, '') AS bounded_by, setup.schedule_id,
       cast(NOT EXISTS (SELECT 1 FROM predicted_setup AS other
                   WHERE other.run_id = setup.run_id AND other.settings = setup.settings
                     AND other.ranks = setup.ranks AND other.predicted_s <= setup.predicted_s
                     AND other.predicted_peak_bytes <= setup.predicted_peak_bytes
                     AND (other.predicted_s < setup.predicted_s
                          OR other.predicted_peak_bytes < setup.predicted_peak_bytes))
            AS INTEGER) AS on_front,
       nullif(run.cluster_json, '') ->> 'name' AS cluster, run.started_at, setup.whole_blocks
FROM predicted_setup AS setup
JOIN run ON run.id = setup.run_id;

CREATE VIEW figure_view AS
SELECT figure.paper, figure.place, figure.setting, figure.system, figure.quantity,
       figure.paper_value, figure.value, figure.value / nullif(figure.paper_value, 0) - 1 AS difference,
       figure.basis, figure.run_id AS run, run.name, run.started_at, run.revision
FROM figure
JOIN run ON run.id = figure.run_id;

-- What timelines share (schema.sql), for every timeline.
CREATE VIEW timeline_op AS
SELECT timeline_program.timeline_id, program_op.op, program_op.name, program_op.kind,
       program_op.activity, program_op.stream, program_op.phase, program_op.layer,
       program_op.chunk, program_op.chunks, program_op.group_kind
FROM timeline_program
JOIN program_op ON program_op.program_id = timeline_program.program_id;

CREATE VIEW op_edge AS
SELECT timeline_program.timeline_id, program_edge.op, program_edge.before
FROM timeline_program
JOIN program_edge ON program_edge.program_id = timeline_program.program_id;

CREATE VIEW rank_group AS
SELECT timeline_program.timeline_id, program_group.kind, program_group.rank,
       program_group.first_rank
FROM timeline_program
JOIN program_group ON program_group.program_id = timeline_program.program_id;

CREATE VIEW timeline_tensor AS
SELECT timeline_program.timeline_id, program_tensor.tensor, program_tensor.name,
       program_tensor.role, program_tensor.pool
FROM timeline_program
JOIN program_tensor ON program_tensor.program_id = timeline_program.program_id;

-- GROUP BY, since what is asked of one timeline then reads its spans once, not for every tensor.
CREATE VIEW allocation AS
SELECT memory.timeline_id, memory.rank, planned.tensor, planned.offset_bytes, planned.bytes,
       planned.first_op, planned.last_op, NULL AS begin_s, NULL AS end_s
FROM timeline_memory AS memory
JOIN planned_tensor AS planned ON planned.plan_id = memory.plan_id
WHERE planned.first_op IS NULL OR planned.last_op IS NULL
UNION ALL
SELECT memory.timeline_id, memory.rank, planned.tensor, planned.offset_bytes, planned.bytes,
       planned.first_op, planned.last_op, first.begin_s, last.end_s
FROM timeline_memory AS memory
CROSS JOIN planned_tensor AS planned ON planned.plan_id = memory.plan_id
CROSS JOIN (SELECT timeline_id, rank, op, min(start_s) AS begin_s FROM span
            GROUP BY timeline_id, rank, op) AS first
  ON first.timeline_id = memory.timeline_id AND first.rank = memory.rank
 AND first.op = planned.first_op
CROSS JOIN (SELECT timeline_id, rank, op, max(start_s + duration_s) AS end_s FROM span
            GROUP BY timeline_id, rank, op) AS last
  ON last.timeline_id = memory.timeline_id AND last.rank = memory.rank
 AND last.op = planned.last_op;
