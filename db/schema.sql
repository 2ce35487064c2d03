-- The tables of moelab's result database: one per struct of db/records.h, columns named as its
-- fields. Those of timelines stand in timelines.sql, the views in views.sql. db/schema.h says what
-- happens to a file that lacks a table or a column of these: a column that is added later needs a
-- default, or may be NULL.
-- Checks stand where they cost nothing; db/number_range.cpp and db/row_bounds.cpp say what a reader
-- refuses, of files without them too.
-- Seconds are REAL, instants are Unix seconds (UTC), byte and token counts are INTEGER. Columns
-- that end in _json hold JSON or ''. What belongs to a row is deleted with it (CASCADE); machines,
-- schedules, programs and memory plans are shared and cannot be deleted while something refers to
-- them.

-- One row, made with the file: what tells this database from all others, also by another path on
-- another computer.
CREATE TABLE file_identity (id TEXT PRIMARY KEY) STRICT;

-- The computer, or the node of a cluster, on which figures were measured.
CREATE TABLE machine (
  id INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL UNIQUE,  -- a hash of the columns below
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
  json TEXT NOT NULL CHECK (json_valid(json)),
  -- names of the decisions that change losses and gradients, ", " between them
  changes_results TEXT NOT NULL DEFAULT ''
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
  layout TEXT NOT NULL DEFAULT '',  -- 'dp=1,ep=4,esp=1,tp=1,pp=1'; '' where nothing is trained
  model_json TEXT NOT NULL CHECK (model_json = '' OR json_valid(model_json)),
  cluster_json TEXT NOT NULL CHECK (cluster_json = '' OR json_valid(cluster_json)),
  schedule_id INTEGER REFERENCES schedule (id),
  planner TEXT NOT NULL DEFAULT '',  -- who made the schedule of this run; '' where it has none
  seed INTEGER NOT NULL,
  network TEXT NOT NULL DEFAULT '',  -- between its nodes, db/network.h; '' where it is not known
  -- the rate of the fastest matrix product that was measured before on a rank's share of this
  -- machine, times the ranks; NULL where none was measured, or nothing is trained
  peak_flops_per_s REAL,
  -- the time of a step with even routing over that of an ordinary one; NULL where not measured
  balanced_share REAL,
  -- the run whose checkpoint a resumed training goes on from; NULL where it begins anew, or where
  -- that run is not in this file
  resumes_run_id INTEGER REFERENCES run (id) ON DELETE SET NULL
) STRICT;
CREATE INDEX run_by_start ON run (started_at DESC);
CREATE INDEX run_by_machine ON run (machine_id);
CREATE INDEX run_by_schedule ON run (schedule_id) WHERE schedule_id IS NOT NULL;
CREATE INDEX run_by_resumed ON run (resumes_run_id) WHERE resumes_run_id IS NOT NULL;
CREATE INDEX run_unfinished ON run (heartbeat_at) WHERE status = 'running';

-- One rank of a run: where it ran, its clock, its peaks. Ranks that have cores in common are of one
-- core set; cores: how many of them its ranks can use at one time; threads: how many the rank
-- computes with. NULL where that is not known; threads are NULL on a GPU. clock_offset_s is added to the
-- rank's clock to give rank 0's, and is as exact as clock_error_s; both are NULL where the clocks could
-- not be compared. share_of_others: the share of its machine's processor time, 0 to 1, that other
-- processes, and other guests of the host, used during the iterations; NULL where nobody watched.
CREATE TABLE run_rank (
  run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  rank INTEGER NOT NULL CHECK (rank >= 0),
  hostname TEXT NOT NULL,
  node INTEGER NOT NULL CHECK (node >= 0),
  core_set INTEGER CHECK (core_set >= 0),
  cores INTEGER CHECK (cores >= 1),
  threads INTEGER CHECK (threads >= 1),
  pid INTEGER NOT NULL,
  clock_offset_s REAL,
  clock_error_s REAL CHECK (clock_error_s >= 0),
  predicted_peak_bytes INTEGER NOT NULL,
  measured_peak_bytes INTEGER NOT NULL,
  share_of_others REAL CHECK (share_of_others >= 0),
  PRIMARY KEY (run_id, rank)
) STRICT, WITHOUT ROWID;

-- What a rank of a training received from a rank of another computer in exchanges of rows and experts
-- for which it waited, those of the warm-up aside; where messages go over MPI and spans are recorded.
-- busy_s: how long these transfers took together, each from when the sender had begun the exchange
-- until its last byte was there. bandwidth_bytes_per_s: the median of the transfers; relative_error:
-- how exact that is.
CREATE TABLE run_link (
  run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  from_rank INTEGER NOT NULL CHECK (from_rank >= 0),
  to_rank INTEGER NOT NULL CHECK (to_rank >= 0),
  transfers INTEGER NOT NULL CHECK (transfers >= 1),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  busy_s REAL NOT NULL CHECK (busy_s >= 0),
  bandwidth_bytes_per_s REAL NOT NULL CHECK (bandwidth_bytes_per_s >= 0),
  relative_error REAL NOT NULL CHECK (relative_error >= 0),
  PRIMARY KEY (run_id, from_rank, to_rank)
) STRICT, WITHOUT ROWID;

-- How a training's devices carried out a matrix product: by which of the algorithms of their library.
-- library: what multiplied, and on what. algorithm: the library's own text, '' for the one that it took
-- unasked. duration_s: how long that took when it was timed, and unasked_s, how long the one that the
-- library took unasked.
CREATE TABLE run_product (
  run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  library TEXT NOT NULL,
  product TEXT NOT NULL,
  algorithm TEXT NOT NULL,
  duration_s REAL NOT NULL CHECK (duration_s >= 0),
  unasked_s REAL NOT NULL CHECK (unasked_s >= 0),
  PRIMARY KEY (run_id, library, product)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_product_by_library ON run_product (library);

-- One training step. A loss that was not finite is NULL: the training diverged. heldout_loss is
-- NULL also where it was not evaluated, z_loss where the model does not weigh it, gradient_norm
-- where gradients were not clipped. schedule_id is NULL where it is that of the run. flops counts
-- the matrix products of all ranks, also those that several ranks, or backward once more, compute
-- alike. exposed_s is how long a rank communicated and computed nothing, the mean over ranks. Of it
-- the rank waited for others for exposed_waiting_s, and for another pipeline stage for
-- exposed_bubble_s; the rest is transfer. NULL where spans were not recorded.
CREATE TABLE iteration (
  run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  iteration INTEGER NOT NULL CHECK (iteration >= 0),
  loss REAL,
  auxiliary_loss REAL,
  heldout_loss REAL,
  duration_s REAL NOT NULL,
  tokens INTEGER NOT NULL,
  dropped_tokens INTEGER NOT NULL,
  schedule_id INTEGER REFERENCES schedule (id),
  z_loss REAL,
  learning_rate REAL,
  gradient_norm REAL,
  flops REAL,
  exposed_s REAL,
  exposed_waiting_s REAL,
  exposed_bubble_s REAL,
  PRIMARY KEY (run_id, iteration)
) STRICT, WITHOUT ROWID;
CREATE INDEX iteration_by_schedule ON iteration (schedule_id) WHERE schedule_id IS NOT NULL;

-- Tokens that source rank `rank` sent to `expert` of a MoE layer in one micro-batch, or (-1) in all
-- of the iteration together. asked_tokens: what its gate asked for, before those over capacity were
-- dropped; NULL where that is not known.
CREATE TABLE load (
  run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  iteration INTEGER NOT NULL CHECK (iteration >= 0),
  layer INTEGER NOT NULL,
  rank INTEGER NOT NULL CHECK (rank >= 0),
  expert INTEGER NOT NULL CHECK (expert >= 0),
  micro_batch INTEGER NOT NULL CHECK (micro_batch >= -1),
  tokens INTEGER NOT NULL CHECK (tokens >= 0),
  asked_tokens INTEGER CHECK (asked_tokens >= 0),
  PRIMARY KEY (run_id, iteration, layer, rank, expert, micro_batch)
) STRICT, WITHOUT ROWID;

-- How even the loads of a MoE layer were in an iteration. Every iteration has a row, also those
-- whose loads are not stored. Tokens are copies that travelled. An expert's tokens are those from
-- all source ranks. A rank's are those whose expert, or whose share of it, belongs to the rank; NULL
-- where that is not known. locality compares what gates asked for. Columns that begin with placed_
-- tell of the tokens that ranks computed; NULL where no expert was replicated. max_asked_tokens is
-- the number of tokens of the fullest expert before those over capacity were dropped.
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
  placed_max_rank_tokens INTEGER,
  placed_rank_standard_deviation REAL,
  max_asked_tokens INTEGER,
  PRIMARY KEY (run_id, iteration, layer)
) STRICT, WITHOUT ROWID;

-- Token copies of the ranks in a MoE layer, in the iterations whose loads are stored. tokens counts
-- those whose expert, or whose share of it, belongs to the rank. asked_tokens is the same before
-- those over capacity were dropped; NULL where that is not known. placed_tokens counts those that
-- the rank computed; NULL where no expert was replicated or moved.
CREATE TABLE rank_load (
  run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  iteration INTEGER NOT NULL CHECK (iteration >= 0),
  layer INTEGER NOT NULL,
  rank INTEGER NOT NULL CHECK (rank >= 0),
  tokens INTEGER NOT NULL CHECK (tokens >= 0),
  asked_tokens INTEGER CHECK (asked_tokens >= 0),
  placed_tokens INTEGER CHECK (placed_tokens >= 0),
  PRIMARY KEY (run_id, iteration, layer, rank)
) STRICT, WITHOUT ROWID;

-- The experts that a rank computed in the same iterations, in layers where an expert was replicated
-- or moved. replica is 0 at the expert's home, and 1 where the rank holds a replica.
CREATE TABLE expert_place (
  run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  iteration INTEGER NOT NULL CHECK (iteration >= 0),
  layer INTEGER NOT NULL,
  rank INTEGER NOT NULL CHECK (rank >= 0),
  expert INTEGER NOT NULL CHECK (expert >= 0),
  replica INTEGER NOT NULL CHECK (replica IN (0, 1)),
  PRIMARY KEY (run_id, iteration, layer, rank, expert)
) STRICT, WITHOUT ROWID;

-- A named set of trials over one model and machine. profile_runs_json: ids of the runs whose
-- timelines gave the costs, in the order in which they were made; refinement_runs_json: for each
-- refinement, the trials' runs that gave its costs too; cost_model_json: the newest costs. part_of:
-- the name under which it was begun with others, one for each layout; '' where it is alone.
CREATE TABLE study (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  model_json TEXT NOT NULL CHECK (model_json = '' OR json_valid(model_json)),
  cluster_json TEXT NOT NULL CHECK (cluster_json = '' OR json_valid(cluster_json)),
  settings_json TEXT NOT NULL CHECK (settings_json = '' OR json_valid(settings_json)),
  profile_runs_json TEXT NOT NULL DEFAULT ''
    CHECK (profile_runs_json = '' OR json_valid(profile_runs_json)),
  cost_model_json TEXT NOT NULL DEFAULT ''
    CHECK (cost_model_json = '' OR json_valid(cost_model_json)),
  ranks INTEGER NOT NULL CHECK (ranks >= 1),
  layout TEXT NOT NULL DEFAULT '',
  created_at REAL NOT NULL,
  refinement_runs_json TEXT NOT NULL DEFAULT ''
    CHECK (refinement_runs_json = '' OR json_valid(refinement_runs_json)),
  part_of TEXT NOT NULL DEFAULT ''
) STRICT;

-- One candidate schedule of a study: the paper's, the predicted and the measured time side by side.
-- predicted_deviation_s: the standard deviation that the prediction is expected to have; NULL where
-- nothing says how sure it is. also_planned_by: other planners that came to this schedule, ", "
-- between them. first_predicted_s: the prediction before the first refinement of the study's costs;
-- NULL where there was no refinement, or where the trial was planned after it. tied_with: finished
-- trials that the repeats do not tell from this one, ", " between their planners. measured_s: the
-- median of the iterations of all repeats; once the study has ended, that of the trial which all are
-- compared with over the speed-up of this one. least_speedup, most_speedup: the 95% interval of the
-- speed-up; NULL until the study has ended, and where fewer than two repeats tell.
-- bounded_by: the stream or the chain of ops that makes lower_bound_s so long, as `moe-tune simulate`
-- prints it; '' where that is not known.
-- failure: why it was not measured; '' where it was, or was not tried yet. A trial of which a launch
-- started no rank is 'not_started', one during which a node went away 'lost_node'. Both stay planned:
-- no schedule is to blame for that.
CREATE TABLE trial (
  id INTEGER PRIMARY KEY,
  study_id INTEGER NOT NULL REFERENCES study (id) ON DELETE CASCADE,
  schedule_id INTEGER NOT NULL REFERENCES schedule (id),
  planner TEXT NOT NULL,
  parameters_json TEXT NOT NULL CHECK (parameters_json = '' OR json_valid(parameters_json)),
  status TEXT NOT NULL CHECK (status IN ('planned', 'running', 'done', 'infeasible',
                                         'out_of_memory', 'hung', 'crashed', 'failed')),
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
  predicted_deviation_s REAL CHECK (predicted_deviation_s >= 0),
  also_planned_by TEXT NOT NULL DEFAULT '',
  first_predicted_s REAL,
  tied_with TEXT NOT NULL DEFAULT '',
  least_speedup REAL,
  most_speedup REAL,
  bounded_by TEXT NOT NULL DEFAULT '',
  failure TEXT NOT NULL DEFAULT '' CHECK (failure IN ('', 'not_started', 'lost_node',
                                                      'infeasible', 'out_of_memory', 'hung',
                                                      'crashed', 'failed')),
  UNIQUE (study_id, schedule_id)
) STRICT;
CREATE INDEX trial_by_planner ON trial (study_id, planner, measured_s);
CREATE INDEX trial_by_schedule ON trial (schedule_id);
CREATE INDEX trial_unfinished ON trial (heartbeat_at) WHERE status = 'running';

-- The costs of a study after each of its refinements; 0: those of its profile. study.cost_model_json
-- is the newest of them.
CREATE TABLE study_costs (
  study_id INTEGER NOT NULL REFERENCES study (id) ON DELETE CASCADE,
  refinement INTEGER NOT NULL CHECK (refinement >= 0),
  cost_model_json TEXT NOT NULL CHECK (json_valid(cost_model_json)),
  PRIMARY KEY (study_id, refinement)
) STRICT, WITHOUT ROWID;

-- How good the predictions of a study's finished trials were, worked out when the study ends.
-- Errors are (predicted - measured) / measured. Where the study has refined its costs, errors,
-- orders and regret are those of the first predictions, and of the trials planned with these.
-- mean_error: the mean of their sizes; worst_error: the largest, with its sign; common_error: the
-- mean with signs; common_share: its share of the mean square error. kendall_tau compares the
-- predicted and the measured order, of all pairs and of those that are told apart. regret: what the
-- trial that is predicted to be best takes longer than the best, as a share. within_deviation: the
-- share of the trials that were measured within one deviation of the newest prediction.
CREATE TABLE prediction_quality (
  study_id INTEGER PRIMARY KEY REFERENCES study (id) ON DELETE CASCADE,
  trials INTEGER NOT NULL,
  mean_error REAL NOT NULL,
  worst_error REAL NOT NULL,
  common_error REAL NOT NULL,
  common_share REAL,
  kendall_tau REAL,
  kendall_tau_told_apart REAL,
  regret REAL,
  within_deviation REAL
) STRICT;

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

-- A line t = alpha_s + beta_s_per_unit * n. relative_deviation: the standard deviation of
-- (fitted - measured) / measured; NULL where there were no more samples than coefficients, and then
-- r2 says nothing. machine_id, network, nodes: what was measured; NULL, '' and 0 where that is not
-- known. The machine is then that of the run. The errors are standard errors; NULL where the
-- samples do not tell. outliers: rows that are left out; samples does not count them.
-- verdict: 'good', or what is wrong with the fit; '' where nobody judged. points_json: [[units,
-- seconds], ...] between which times are interpolated; '' where a line explains the samples.
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
  max_relative_residual REAL NOT NULL,
  relative_deviation REAL CHECK (relative_deviation >= 0),
  machine_id INTEGER REFERENCES machine (id),
  network TEXT NOT NULL DEFAULT '',
  nodes INTEGER NOT NULL DEFAULT 0 CHECK (nodes >= 0),
  alpha_error_s REAL CHECK (alpha_error_s >= 0),
  beta_error_s_per_unit REAL CHECK (beta_error_s_per_unit >= 0),
  outliers INTEGER NOT NULL DEFAULT 0 CHECK (outliers >= 0),
  verdict TEXT NOT NULL DEFAULT '',
  points_json TEXT NOT NULL DEFAULT '' CHECK (points_json = '' OR json_valid(points_json))
) STRICT;
CREATE INDEX fit_by_run ON fit (run_id);
CREATE INDEX fit_by_op ON fit (op, device, ranks, link);
CREATE INDEX fit_by_machine ON fit (machine_id) WHERE machine_id IS NOT NULL;

-- One row of a microbenchmark sweep, in nccl-tests' terms. relative_deviation: the standard
-- deviation of the samples over their mean; of interference that of the slowdowns of its rounds.
-- NULL where it is not known.
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
  wrong INTEGER NOT NULL,
  relative_deviation REAL CHECK (relative_deviation >= 0)
) STRICT;
CREATE INDEX measurement_by_run ON measurement (run_id);
CREATE INDEX measurement_by_op ON measurement (op, device, ranks, bytes);

-- The samples of a measurement: seconds of a call on the slowest rank. p95_s: 95 of 100 take no
-- longer. quantiles_json: all of them in ascending order or, where they are more than 101, as many
-- quantiles, evenly apart from the smallest to the largest. Measurements of earlier versions and
-- imported ones have no row.
CREATE TABLE measurement_samples (
  measurement_id INTEGER PRIMARY KEY REFERENCES measurement (id) ON DELETE CASCADE,
  p95_s REAL NOT NULL,
  quantiles_json TEXT NOT NULL CHECK (json_valid(quantiles_json))
) STRICT;

-- The time that each rank took for the calls of a measurement: the median, the least and the most of
-- its own samples. time_s of the measurement is of the slowest rank in every sample.
CREATE TABLE measurement_rank (
  measurement_id INTEGER NOT NULL REFERENCES measurement (id) ON DELETE CASCADE,
  rank INTEGER NOT NULL CHECK (rank >= 0),
  time_s REAL NOT NULL,
  min_s REAL NOT NULL,
  max_s REAL NOT NULL,
  PRIMARY KEY (measurement_id, rank)
) STRICT, WITHOUT ROWID;

-- A setup that `moe-tune search` found for so many ranks and with these settings ('' or
-- 'training.precision=bf16 cluster.nodes=4'): the layout of the ranks, the number of micro-batches and
-- the schedule. place: by predicted time, from 1. batch_per: who has a sequence, 'rank' or 'tp_group'.
-- micro_batch_order: the order of micro-batches. restored_blocks: how many blocks backward computes
-- once more; whole_blocks: how many of them with their exchanges. peak_share: of the FLOP/s that the
-- ranks can reach at most; NULL where that is not known.
-- The parts of the peak of the fullest rank add up to predicted_peak_bytes. memory_limit_bytes: of a
-- rank; NULL where nobody said it.
CREATE TABLE predicted_setup (
  run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  settings TEXT NOT NULL,
  ranks INTEGER NOT NULL CHECK (ranks >= 1),
  place INTEGER NOT NULL CHECK (place >= 1),
  layout TEXT NOT NULL,
  micro_batches INTEGER NOT NULL CHECK (micro_batches >= 1),
  batch_per TEXT NOT NULL CHECK (batch_per IN ('rank', 'tp_group')),
  micro_batch_order TEXT NOT NULL,
  planner TEXT NOT NULL,
  schedule_id INTEGER NOT NULL REFERENCES schedule (id),
  shard_optimizer INTEGER NOT NULL CHECK (shard_optimizer IN (0, 1)),
  restored_blocks INTEGER NOT NULL CHECK (restored_blocks >= 0),
  whole_blocks INTEGER NOT NULL DEFAULT 0 CHECK (whole_blocks >= 0),
  predicted_s REAL NOT NULL CHECK (predicted_s >= 0),
  tokens_per_s REAL NOT NULL CHECK (tokens_per_s >= 0),
  peak_share REAL CHECK (peak_share >= 0),
  parameter_bytes INTEGER NOT NULL,
  gradient_bytes INTEGER NOT NULL,
  optimizer_bytes INTEGER NOT NULL,
  activation_bytes INTEGER NOT NULL,
  buffer_bytes INTEGER NOT NULL,
  predicted_peak_bytes INTEGER NOT NULL,
  memory_limit_bytes INTEGER,
  lower_bound_s REAL NOT NULL,
  bounded_by TEXT NOT NULL,
  PRIMARY KEY (run_id, settings, ranks, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX predicted_setup_by_schedule ON predicted_setup (schedule_id);

-- A figure that a paper prints, beside what moelab gives for it (experiments/reproduce). paper: which
-- of the papers; place: the table or figure in it; setting, system, quantity: what the figure is of.
-- paper_value is NULL where the paper does not print one, value where moelab has none. basis: how
-- value came to be: 'simulated' or 'measured'.
CREATE TABLE figure (
  run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  paper TEXT NOT NULL,
  place TEXT NOT NULL,
  setting TEXT NOT NULL,
  system TEXT NOT NULL,
  quantity TEXT NOT NULL,
  paper_value REAL,
  value REAL,
  basis TEXT NOT NULL CHECK (basis IN ('simulated', 'measured')),
  PRIMARY KEY (run_id, paper, place, setting, system, quantity)
) STRICT, WITHOUT ROWID;
