-- Version 7: how long each rank of a timeline computes and communicates; what threads beside each other had of their cores.

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
