-- Version 7: how long each rank of a timeline computes and communicates; what threads beside each other had of their cores; planners
-- that come to one schedule.

-- Seconds during which at least one op of an activity ran on a rank: they add up to more than the whole where activities overlap.
-- exposed_s: of communication_s, during which no computation ran. WHERE timeline = N reads that timeline alone.
CREATE VIEW activity_view AS
WITH edge AS (
       SELECT span.timeline_id AS timeline, span.rank, span.start_s AS at_s, 1 AS step, span.op, timeline_op.activity
       FROM span JOIN timeline_op ON timeline_op.timeline_id = span.timeline_id AND timeline_op.op = span.op
       UNION ALL
       SELECT span.timeline_id, span.rank, span.start_s + span.duration_s, -1, span.op, timeline_op.activity
       FROM span JOIN timeline_op ON timeline_op.timeline_id = span.timeline_id AND timeline_op.op = span.op),
     level AS (
       SELECT timeline, rank, lead(at_s) OVER ordered - at_s AS length_s,
              sum(step * (activity = 'computation')) OVER ordered AS computing,
              sum(step * (activity = 'communication')) OVER ordered AS communicating,
              sum(step * (activity = 'copy')) OVER ordered AS copying
       FROM edge
       WINDOW ordered AS (PARTITION BY timeline, rank ORDER BY at_s, step, op ROWS UNBOUNDED PRECEDING))
SELECT timeline, rank, total(length_s * (computing > 0)) AS computation_s,
       total(length_s * (communicating > 0)) AS communication_s,
       total(length_s * (communicating > 0 AND computing = 0)) AS exposed_s, total(length_s * (copying > 0)) AS copy_s
FROM level GROUP BY timeline, rank;

-- Of rank 0's threads, those of what runs beside together; NULL in rows of older versions. processors: seconds of processor time
-- in a second. wakes: of a thread that slept or waited. preempted: a thread put aside though it had work.
DROP VIEW interference_view;
CREATE VIEW interference_view AS
SELECT measurement.id AS measurement, measurement.parameters_json ->> 'activity' AS activity,
       measurement.parameters_json ->> 'beside' AS beside,
       measurement.parameters_json ->> 'alone_s' / measurement.time_s AS speed,
       measurement.parameters_json ->> 'alone_s' AS alone_s, measurement.time_s, measurement.parameters_json ->> 'overlap' AS overlap,
       measurement.device, measurement.dtype, measurement.ranks, measurement.bytes, measurement.flops, measurement.samples,
       measurement.wrong, machine.hostname AS machine, measurement.run_id AS run, run.started_at,
       measurement.parameters_json ->> '$.use.processors' AS processors,
       measurement.parameters_json ->> '$.use.wakes_per_s' AS wakes_per_s,
       measurement.parameters_json ->> '$.use.preempted_per_s' AS preempted_per_s,
       measurement.parameters_json ->> '$.use_beside.processors' AS processors_beside,
       measurement.parameters_json ->> '$.use_beside.wakes_per_s' AS wakes_beside_per_s,
       measurement.parameters_json ->> '$.use_beside.preempted_per_s' AS preempted_beside_per_s
FROM measurement JOIN run ON run.id = measurement.run_id JOIN machine ON machine.id = run.machine_id
WHERE measurement.op = 'interference';

-- Planners whose candidate was the schedule of a trial that was there already, ", " between them.
ALTER TABLE trial ADD COLUMN also_planned_by TEXT NOT NULL DEFAULT '';

-- last_loss: of the last iteration of the last repeat; sequential_last_loss: the same of the sequential trial, which it should
-- be equal to but where changes_results is not NULL, or where the text that is trained on changed meanwhile; loss_difference: by how much it is above that. speedup: the measured
-- sequential trial of the same study over this one's. prediction_error: (predicted - measured) / measured.
DROP VIEW trial_view;
CREATE VIEW trial_view AS
SELECT study, trial, planner, parameters, status, error, paper_s, predicted_s, measured_s, lower_bound_s,
       predicted_peak_bytes, measured_peak_bytes, sequential_s, repeats, min_repeat_s, max_repeat_s, started_at,
       finished_at, heartbeat_at, ranks, study_id, schedule_id, sequential_s / measured_s AS speedup,
       (predicted_s - measured_s) / measured_s AS prediction_error, layout, changes_results, last_loss, sequential_last_loss,
       last_loss - sequential_last_loss AS loss_difference, predicted_deviation_s, also_planned_by
FROM (SELECT study.name AS study, trial.id AS trial, trial.planner, trial.parameters_json AS parameters, trial.status,
             trial.error, trial.paper_s, trial.predicted_s, trial.measured_s, trial.lower_bound_s,
             trial.predicted_peak_bytes, trial.measured_peak_bytes, trial.predicted_deviation_s,
             nullif(trial.also_planned_by, '') AS also_planned_by,
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
