-- A database as programs of version 7 made it, without its views: two timelines of one program.
CREATE TABLE file_identity (id TEXT PRIMARY KEY) STRICT;
INSERT INTO file_identity VALUES('f1b2bebb222f1100054be52bdf288750');
CREATE TABLE machine (
  id INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL UNIQUE,
  hostname TEXT NOT NULL,
  os TEXT NOT NULL,
  cpu TEXT NOT NULL,
  cores INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,
  gpu TEXT NOT NULL,
  gpu_count INTEGER NOT NULL,
  libraries_json TEXT NOT NULL CHECK (libraries_json = '' OR json_valid(libraries_json))
) STRICT;
INSERT INTO machine VALUES(1,'sample','node0','Debian GNU/Linux 12','a processor',4,17179869184,'',0,'{"oneDNN":"2.6.3"}');
CREATE TABLE schedule (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  planner TEXT NOT NULL,
  json TEXT NOT NULL CHECK (json_valid(json)),
  changes_results TEXT NOT NULL DEFAULT ''
) STRICT;
INSERT INTO schedule VALUES(1,'af6fbc8ed8145c1052184b9e3edeed19','sequential','{"planner":"sequential","decisions":"sequential"}','');
INSERT INTO schedule VALUES(2,'75415d0b8e2e27773bd8f28d4fc40624','tutel','{"planner":"tutel","decisions":"tutel"}','');
INSERT INTO schedule VALUES(3,'6eac4fc90f3ef0fdc8424abf86f7df83','pipemoe','{"planner":"pipemoe","decisions":"pipemoe"}','');
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
  layout TEXT NOT NULL DEFAULT '',
  model_json TEXT NOT NULL CHECK (model_json = '' OR json_valid(model_json)),
  cluster_json TEXT NOT NULL CHECK (cluster_json = '' OR json_valid(cluster_json)),
  schedule_id INTEGER REFERENCES schedule (id),
  planner TEXT NOT NULL DEFAULT '',
  seed INTEGER NOT NULL,
  network TEXT NOT NULL DEFAULT '',
  peak_flops_per_s REAL,
  balanced_share REAL,
  resumes_run_id INTEGER REFERENCES run (id) ON DELETE SET NULL
) STRICT;
INSERT INTO run VALUES(1,1,'train','tiny','done','',1795863486.5797235965,1795863486.6041779517,1795863486.6041779517,0,'','["moe-train","--model","tiny"]','','cpu',2,'dp=1,ep=2,esp=1,tp=1','{"layers":2}','',NULL,'',7,'',NULL,NULL,NULL);
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
CREATE TABLE run_rank (
  run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  rank INTEGER NOT NULL CHECK (rank >= 0),
  hostname TEXT NOT NULL,
  node INTEGER NOT NULL CHECK (node >= 0),
  core_set INTEGER CHECK (core_set >= 0),
  cores INTEGER CHECK (cores >= 1),
  threads INTEGER CHECK (threads >= 1),
  pid INTEGER NOT NULL,
  clock_offset_s REAL NOT NULL,
  clock_error_s REAL NOT NULL,
  predicted_peak_bytes INTEGER NOT NULL,
  measured_peak_bytes INTEGER NOT NULL,
  share_of_others REAL CHECK (share_of_others >= 0),
  PRIMARY KEY (run_id, rank)
) STRICT, WITHOUT ROWID;
INSERT INTO run_rank VALUES(1,0,'node0',0,0,2,1,0,0.0,0.0,0,1048576,NULL);
INSERT INTO run_rank VALUES(1,1,'node0',0,1,2,1,0,0.0,0.0,0,1048576,NULL);
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
INSERT INTO iteration VALUES(1,0,5.5,0.0,NULL,0.10000000000000000555,1024,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO iteration VALUES(1,1,4.5,0.0,NULL,0.10000000000000000555,1024,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO iteration VALUES(1,2,3.5,0.0,3.25,0.10000000000000000555,1024,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
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
CREATE TABLE expert_place (
  run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  iteration INTEGER NOT NULL CHECK (iteration >= 0),
  layer INTEGER NOT NULL,
  rank INTEGER NOT NULL CHECK (rank >= 0),
  expert INTEGER NOT NULL CHECK (expert >= 0),
  replica INTEGER NOT NULL CHECK (replica IN (0, 1)),
  PRIMARY KEY (run_id, iteration, layer, rank, expert)
) STRICT, WITHOUT ROWID;
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
    CHECK (refinement_runs_json = '' OR json_valid(refinement_runs_json))
) STRICT;
INSERT INTO study VALUES(1,'sample study','','','','','',2,'dp=1,ep=2,esp=1,tp=1',1795863486.5805842876,'');
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
  comparable_s REAL,
  compute_slowdown REAL,
  predicted_slowed_s REAL,
  bounded_by TEXT NOT NULL DEFAULT '',
  slowed_lower_bound_s REAL,
  failure TEXT NOT NULL DEFAULT '' CHECK (failure IN ('', 'not_started', 'infeasible',
                                                      'out_of_memory', 'hung', 'crashed', 'failed')),
  UNIQUE (study_id, schedule_id)
) STRICT;
INSERT INTO trial VALUES(1,1,1,'sequential','{"forward_chunks":2}','done','',NULL,0.20999999999999999222,0.2000000000000000111,NULL,NULL,NULL,1795863486.5810096263,1795863486.5811805725,1795863486.5811805725,NULL,'',NULL,'',NULL,NULL,NULL,'',NULL,'');
INSERT INTO trial VALUES(2,1,2,'tutel','{"forward_chunks":2}','done','',NULL,0.11000000000000000055,0.10000000000000000555,NULL,NULL,NULL,1795863486.5815305709,1795863486.5816917419,1795863486.5816917419,NULL,'',NULL,'',NULL,NULL,NULL,'',NULL,'');
INSERT INTO trial VALUES(3,1,3,'pipemoe','{"forward_chunks":2}','out_of_memory','',NULL,0.11000000000000000055,NULL,NULL,NULL,NULL,1795863486.5820753573,1795863486.5821557044,1795863486.5821557044,NULL,'',NULL,'',NULL,NULL,NULL,'',NULL,'out_of_memory');
CREATE TABLE study_costs (
  study_id INTEGER NOT NULL REFERENCES study (id) ON DELETE CASCADE,
  refinement INTEGER NOT NULL CHECK (refinement >= 0),
  cost_model_json TEXT NOT NULL CHECK (json_valid(cost_model_json)),
  PRIMARY KEY (study_id, refinement)
) STRICT, WITHOUT ROWID;
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
  within_deviation REAL,
  compute_slowdown REAL,
  mean_slowed_error REAL,
  worst_slowed_error REAL
) STRICT;
CREATE TABLE trial_repeat (
  trial_id INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
  repeat INTEGER NOT NULL,
  run_id INTEGER REFERENCES run (id) ON DELETE SET NULL,
  measured_s REAL NOT NULL,
  steps INTEGER NOT NULL,
  PRIMARY KEY (trial_id, repeat)
) STRICT, WITHOUT ROWID;
INSERT INTO trial_repeat VALUES(1,0,1,0.2000000000000000111,5);
INSERT INTO trial_repeat VALUES(2,0,1,0.10000000000000000555,5);
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
  verdict TEXT NOT NULL DEFAULT ''
) STRICT;
INSERT INTO fit VALUES(1,1,'all_to_all','cpu',2,'inter_node',2.0000000000000001634e-05,4.0000000000000002489e-09,'byte',0.99899999999999999911,12,0.0,0.0,0.0,NULL,NULL,'',0,NULL,NULL,0,'');
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
INSERT INTO measurement VALUES(1,1,'all_to_all','cpu','f32',2,'',16777216,4194304,0.0,0.070000000000000006661,0.0,0.0,10,240000000.0,120000000.0,0,NULL);
CREATE TABLE measurement_samples (
  measurement_id INTEGER PRIMARY KEY REFERENCES measurement (id) ON DELETE CASCADE,
  p95_s REAL NOT NULL,
  quantiles_json TEXT NOT NULL CHECK (json_valid(quantiles_json))
) STRICT;
CREATE TABLE measurement_rank (
  measurement_id INTEGER NOT NULL REFERENCES measurement (id) ON DELETE CASCADE,
  rank INTEGER NOT NULL CHECK (rank >= 0),
  time_s REAL NOT NULL,
  min_s REAL NOT NULL,
  max_s REAL NOT NULL,
  PRIMARY KEY (measurement_id, rank)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE timeline (
  id INTEGER PRIMARY KEY,
  run_id INTEGER REFERENCES run (id) ON DELETE CASCADE,
  trial_id INTEGER REFERENCES trial (id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('measured', 'predicted', 'imported')),
  label TEXT NOT NULL,
  iteration INTEGER NOT NULL,
  duration_s REAL NOT NULL
) STRICT;
INSERT INTO timeline VALUES(1,1,NULL,'measured','',2,0.0080000000000000001665);
INSERT INTO timeline VALUES(2,1,2,'predicted','',2,0.0080000000000000001665);
CREATE TABLE timeline_op (
  timeline_id INTEGER NOT NULL REFERENCES timeline (id) ON DELETE CASCADE,
  op INTEGER NOT NULL CHECK (op >= 0),
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  activity TEXT NOT NULL CHECK (activity IN ('computation', 'communication', 'copy', 'host')),
  stream TEXT NOT NULL,
  phase TEXT NOT NULL,
  layer INTEGER NOT NULL,
  chunk INTEGER NOT NULL,
  chunks INTEGER NOT NULL,
  group_kind TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (timeline_id, op)
) STRICT, WITHOUT ROWID;
INSERT INTO timeline_op VALUES(1,0,'gate','gate','computation','compute','forward',1,0,2,'');
INSERT INTO timeline_op VALUES(1,1,'all_to_all dispatch','all_to_all','communication','inter_node','forward',1,0,2,'');
INSERT INTO timeline_op VALUES(1,2,'expert','gemm','computation','compute','forward',1,0,2,'');
INSERT INTO timeline_op VALUES(2,0,'gate','gate','computation','compute','forward',1,0,2,'');
INSERT INTO timeline_op VALUES(2,1,'all_to_all dispatch','all_to_all','communication','inter_node','forward',1,0,2,'');
INSERT INTO timeline_op VALUES(2,2,'expert','gemm','computation','compute','forward',1,0,2,'');
CREATE TABLE op_edge (
  timeline_id INTEGER NOT NULL REFERENCES timeline (id) ON DELETE CASCADE,
  op INTEGER NOT NULL,
  before INTEGER NOT NULL,
  PRIMARY KEY (timeline_id, op, before)
) STRICT, WITHOUT ROWID;
INSERT INTO op_edge VALUES(1,1,0);
INSERT INTO op_edge VALUES(1,2,1);
INSERT INTO op_edge VALUES(2,1,0);
INSERT INTO op_edge VALUES(2,2,1);
CREATE TABLE rank_group (
  timeline_id INTEGER NOT NULL REFERENCES timeline (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  rank INTEGER NOT NULL CHECK (rank >= 0),
  first_rank INTEGER NOT NULL CHECK (first_rank >= 0),
  PRIMARY KEY (timeline_id, kind, rank)
) STRICT, WITHOUT ROWID;
INSERT INTO rank_group VALUES(1,'expert',0,0);
INSERT INTO rank_group VALUES(1,'expert',1,0);
INSERT INTO rank_group VALUES(2,'expert',0,0);
INSERT INTO rank_group VALUES(2,'expert',1,0);
CREATE TABLE timeline_tensor (
  timeline_id INTEGER NOT NULL REFERENCES timeline (id) ON DELETE CASCADE,
  tensor INTEGER NOT NULL,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  pool TEXT NOT NULL CHECK (pool IN ('device', 'host')),
  PRIMARY KEY (timeline_id, tensor)
) STRICT, WITHOUT ROWID;
INSERT INTO timeline_tensor VALUES(1,0,'weights','parameter','device');
INSERT INTO timeline_tensor VALUES(1,1,'sent','activation','device');
INSERT INTO timeline_tensor VALUES(2,0,'weights','parameter','device');
INSERT INTO timeline_tensor VALUES(2,1,'sent','activation','device');
CREATE TABLE allocation (
  timeline_id INTEGER NOT NULL REFERENCES timeline (id) ON DELETE CASCADE,
  rank INTEGER NOT NULL CHECK (rank >= 0),
  tensor INTEGER NOT NULL,
  offset_bytes INTEGER NOT NULL CHECK (offset_bytes >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  first_op INTEGER,
  last_op INTEGER,
  begin_s REAL,
  end_s REAL,
  PRIMARY KEY (timeline_id, rank, tensor)
) STRICT, WITHOUT ROWID;
INSERT INTO allocation VALUES(1,0,0,0,100,NULL,NULL,NULL,NULL);
INSERT INTO allocation VALUES(1,0,1,100,40,0,1,0.0,0.005000000000000000104);
INSERT INTO allocation VALUES(1,1,0,0,100,NULL,NULL,NULL,NULL);
INSERT INTO allocation VALUES(1,1,1,100,40,0,1,0.0,0.005000000000000000104);
INSERT INTO allocation VALUES(2,0,0,0,100,NULL,NULL,NULL,NULL);
INSERT INTO allocation VALUES(2,0,1,100,40,0,1,0.0,0.005000000000000000104);
INSERT INTO allocation VALUES(2,1,0,0,100,NULL,NULL,NULL,NULL);
INSERT INTO allocation VALUES(2,1,1,100,40,0,1,0.0,0.005000000000000000104);
CREATE TABLE span (
  timeline_id INTEGER NOT NULL REFERENCES timeline (id) ON DELETE CASCADE,
  rank INTEGER NOT NULL CHECK (rank >= 0),
  start_s REAL NOT NULL CHECK (start_s >= 0),
  op INTEGER NOT NULL CHECK (op >= 0),
  duration_s REAL NOT NULL CHECK (duration_s >= 0),
  bytes INTEGER NOT NULL,
  flops REAL NOT NULL,
  waiting_s REAL CHECK (waiting_s >= 0),
  PRIMARY KEY (timeline_id, rank, start_s, op)
) STRICT, WITHOUT ROWID;
INSERT INTO span VALUES(1,0,0.0,0,0.0010000000000000000208,0,0.0,NULL);
INSERT INTO span VALUES(1,0,0.0010000000000000000208,1,0.0040000000000000000832,4000000,0.0,NULL);
INSERT INTO span VALUES(1,0,0.005000000000000000104,2,0.0020000000000000000416,0,0.0,NULL);
INSERT INTO span VALUES(1,1,0.0,0,0.0020000000000000000416,0,0.0,NULL);
INSERT INTO span VALUES(1,1,0.0020000000000000000416,1,0.0030000000000000000624,4000000,0.0,NULL);
INSERT INTO span VALUES(1,1,0.005000000000000000104,2,0.0030000000000000000624,0,0.0,NULL);
INSERT INTO span VALUES(2,0,0.0,0,0.0010000000000000000208,0,0.0,NULL);
INSERT INTO span VALUES(2,0,0.0010000000000000000208,1,0.0040000000000000000832,4000000,0.0,NULL);
INSERT INTO span VALUES(2,0,0.005000000000000000104,2,0.0020000000000000000416,0,0.0,NULL);
INSERT INTO span VALUES(2,1,0.0,0,0.0020000000000000000416,0,0.0,NULL);
INSERT INTO span VALUES(2,1,0.0020000000000000000416,1,0.0030000000000000000624,4000000,0.0,NULL);
INSERT INTO span VALUES(2,1,0.005000000000000000104,2,0.0030000000000000000624,0,0.0,NULL);
CREATE TABLE rank_activity (
  timeline_id INTEGER NOT NULL REFERENCES timeline (id) ON DELETE CASCADE,
  rank INTEGER NOT NULL CHECK (rank >= 0),
  computation_s REAL NOT NULL,
  communication_s REAL NOT NULL,
  copy_s REAL NOT NULL,
  exposed_s REAL NOT NULL,
  exposed_waiting_s REAL NOT NULL,
  exposed_bubble_s REAL NOT NULL,
  PRIMARY KEY (timeline_id, rank)
) STRICT, WITHOUT ROWID;
INSERT INTO rank_activity VALUES(1,0,0.0030000000000000000624,0.0040000000000000000832,0.0,0.0040000000000000000832,0.0,0.0);
INSERT INTO rank_activity VALUES(1,1,0.005000000000000000104,0.0030000000000000000624,0.0,0.0030000000000000000624,0.0,0.0);
INSERT INTO rank_activity VALUES(2,0,0.0030000000000000000624,0.0040000000000000000832,0.0,0.0040000000000000000832,0.0,0.0);
INSERT INTO rank_activity VALUES(2,1,0.005000000000000000104,0.0030000000000000000624,0.0,0.0030000000000000000624,0.0,0.0);
CREATE TABLE op_activity (
  timeline_id INTEGER NOT NULL REFERENCES timeline (id) ON DELETE CASCADE,
  rank INTEGER NOT NULL CHECK (rank >= 0),
  layer INTEGER NOT NULL,
  phase TEXT NOT NULL,
  kind TEXT NOT NULL,
  activity TEXT NOT NULL,
  spans INTEGER NOT NULL,
  busy_s REAL NOT NULL,
  bytes INTEGER NOT NULL,
  flops REAL NOT NULL,
  waiting_s REAL,
  exposed_s REAL,
  exposed_waiting_s REAL,
  exposed_bubble_s REAL,
  PRIMARY KEY (timeline_id, rank, layer, phase, kind, activity)
) STRICT, WITHOUT ROWID;
INSERT INTO op_activity VALUES(1,0,1,'forward','all_to_all','communication',1,0.0040000000000000000832,4000000,0.0,NULL,0.0040000000000000000832,0.0,0.0);
INSERT INTO op_activity VALUES(1,0,1,'forward','gate','computation',1,0.0010000000000000000208,0,0.0,NULL,NULL,NULL,NULL);
INSERT INTO op_activity VALUES(1,0,1,'forward','gemm','computation',1,0.0020000000000000000416,0,0.0,NULL,NULL,NULL,NULL);
INSERT INTO op_activity VALUES(1,1,1,'forward','all_to_all','communication',1,0.0030000000000000000624,4000000,0.0,NULL,0.0030000000000000000624,0.0,0.0);
INSERT INTO op_activity VALUES(1,1,1,'forward','gate','computation',1,0.0020000000000000000416,0,0.0,NULL,NULL,NULL,NULL);
INSERT INTO op_activity VALUES(1,1,1,'forward','gemm','computation',1,0.0030000000000000000624,0,0.0,NULL,NULL,NULL,NULL);
INSERT INTO op_activity VALUES(2,0,1,'forward','all_to_all','communication',1,0.0040000000000000000832,4000000,0.0,NULL,0.0040000000000000000832,0.0,0.0);
INSERT INTO op_activity VALUES(2,0,1,'forward','gate','computation',1,0.0010000000000000000208,0,0.0,NULL,NULL,NULL,NULL);
INSERT INTO op_activity VALUES(2,0,1,'forward','gemm','computation',1,0.0020000000000000000416,0,0.0,NULL,NULL,NULL,NULL);
INSERT INTO op_activity VALUES(2,1,1,'forward','all_to_all','communication',1,0.0030000000000000000624,4000000,0.0,NULL,0.0030000000000000000624,0.0,0.0);
INSERT INTO op_activity VALUES(2,1,1,'forward','gate','computation',1,0.0020000000000000000416,0,0.0,NULL,NULL,NULL,NULL);
INSERT INTO op_activity VALUES(2,1,1,'forward','gemm','computation',1,0.0030000000000000000624,0,0.0,NULL,NULL,NULL,NULL);
CREATE INDEX run_by_start ON run (started_at DESC);
CREATE INDEX run_by_machine ON run (machine_id);
CREATE INDEX run_by_schedule ON run (schedule_id) WHERE schedule_id IS NOT NULL;
CREATE INDEX run_by_resumed ON run (resumes_run_id) WHERE resumes_run_id IS NOT NULL;
CREATE INDEX run_unfinished ON run (heartbeat_at) WHERE status = 'running';
CREATE INDEX iteration_by_schedule ON iteration (schedule_id) WHERE schedule_id IS NOT NULL;
CREATE INDEX trial_by_planner ON trial (study_id, planner, measured_s);
CREATE INDEX trial_by_schedule ON trial (schedule_id);
CREATE INDEX trial_unfinished ON trial (heartbeat_at) WHERE status = 'running';
CREATE INDEX trial_repeat_by_run ON trial_repeat (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX fit_by_run ON fit (run_id);
CREATE INDEX fit_by_op ON fit (op, device, ranks, link);
CREATE INDEX fit_by_machine ON fit (machine_id) WHERE machine_id IS NOT NULL;
CREATE INDEX measurement_by_run ON measurement (run_id);
CREATE INDEX measurement_by_op ON measurement (op, device, ranks, bytes);
CREATE INDEX timeline_by_run ON timeline (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX timeline_by_trial ON timeline (trial_id) WHERE trial_id IS NOT NULL;
PRAGMA user_version = 7;
PRAGMA application_id = 1836017004;
