#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Plain rows of the result database: one struct per table, or view of programs.h, fields named as
/// the columns of db/schema.sql and db/timelines.sql. Times are seconds (double); instants are Unix
/// seconds (double, UTC); byte counts are int64. An `id` of 0 means "not stored yet". Fields that
/// hold JSON end in `_json`.
namespace db {

/// The computer (or the one node of a cluster) on which figures were measured. Unique by
/// `fingerprint`.
struct Machine {
  std::int64_t id = 0;
  std::string fingerprint;  ///< hash of everything below; equal machines share one row
  std::string hostname;
  std::string os;
  std::string cpu;
  int cores = 0;
  std::int64_t memory_bytes = 0;
  std::string gpu;  ///< empty where there is none
  int gpu_count = 0;
  std::string libraries_json;  ///< {"oneDNN": "2.6.3", "Open MPI": "4.1.4", ...}
};

/// One execution of one of the five programs.
struct Run {
  std::int64_t id = 0;
  std::int64_t machine_id = 0;
  /// "train" | "bench" | "study" | "search" | "simulate" | "figures" | "routing"
  std::string kind;
  std::string name;    ///< a name for people: that of a model, a study, a file
  std::string status;  ///< "running" | "done" | "failed" | "killed"
  std::string error;   ///< why it failed, empty otherwise
  double started_at = 0;
  std::optional<double> finished_at;
  double heartbeat_at = 0;  ///< last sign of life; a running row with an old one was killed
  std::int64_t pid = 0;
  std::string
      revision;  ///< git revision of the build, "-dirty" appended where the tree was changed
  std::string argv_json;
  std::string environment_json;  ///< an allow-list of variables, never the whole environment
  std::string device;            ///< "cpu" | "cuda" | "emulated": CUDA in software, for tests
  int ranks = 1;
  std::string layout;  ///< how ranks are divided: "dp=1,ep=4,esp=1,tp=1"; empty where none train
  std::string model_json;
  std::string cluster_json;
  std::optional<std::int64_t> schedule_id;
  std::string planner;  ///< the planner of its schedule, empty where it has none
  std::int64_t seed = 0;
  std::string network = {};  ///< between its nodes (network.h); empty where it is not known
  /// The rate of the fastest matrix product that was measured on this machine before, times the
  /// ranks; none where none was.
  std::optional<double> peak_flops_per_s = {};
  /// The time of a step with even routing over that of a step as it was; none where not measured.
  std::optional<double> balanced_share = {};
  /// The run from whose checkpoint it goes on; none where it begins anew.
  std::optional<std::int64_t> resumes_run_id = {};
};

/// One rank of a run. clock_offset_s is added to the rank's own clock to give rank 0's; none where
/// the clocks could not be compared.
struct RunRank {
  std::int64_t run_id = 0;
  int rank = 0;
  std::string hostname;
  int node = 0;
  std::optional<int> core_set = {};  ///< equal for ranks that have cores in common; none: not known
  std::optional<int> cores = {};  ///< how many cores the ranks of its core set can use at one time
  /// How many threads it computes with; none: on a GPU, or not known.
  std::optional<int> threads = {};
  std::int64_t pid = 0;
  std::optional<double> clock_offset_s{};
  std::optional<double> clock_error_s{};  ///< the offset is as exact as this
  std::int64_t predicted_peak_bytes = 0;
  std::int64_t measured_peak_bytes = 0;
  /// The share of its machine's processor time that others used during the iterations.
  std::optional<double> share_of_others = {};
};

/// A schedule as JSON, stored once per content: its decisions, whoever took them.
struct Schedule {
  std::int64_t id = 0;
  std::string hash;
  std::string planner;  ///< the planner that took them first
  std::string json;
  /// The decisions that change losses and gradients, ", " between them.
  std::string changes_results = {};
};

/// One training step of a run.
struct Iteration {
  std::int64_t run_id = 0;
  int iteration = 0;
  double loss = 0;  ///< mean cross-entropy over the global batch, nats per token
  double auxiliary_loss = 0;
  std::optional<double> heldout_loss;
  double duration_s = 0;  ///< the duration on the slowest rank
  std::int64_t tokens = 0;
  std::int64_t dropped_tokens = 0;          ///< token-expert assignments over capacity
  std::optional<std::int64_t> schedule_id;  ///< the schedule in force; none: the one of the run
  std::optional<double> z_loss = {};        ///< unweighted; none where the model does not weigh it
  std::optional<double> learning_rate = {};
  std::optional<double> gradient_norm = {};  ///< none where gradients were not clipped
  std::optional<double> flops = {};          ///< of the matrix products of all ranks
  /// Communication during which a rank computed nothing, mean over ranks; none where spans were not
  /// recorded.
  std::optional<double> exposed_s = {};
  /// The part of exposed_s in which the rank waited for other ranks of its stage.
  std::optional<double> exposed_waiting_s = {};
  /// The part of exposed_s in which the rank waited for another pipeline stage.
  std::optional<double> exposed_bubble_s = {};
};

/// The tokens that source rank `rank` sent to `expert` of MoE layer `layer` in one micro-batch of
/// an iteration.
struct Load {
  std::int64_t run_id = 0;
  int iteration = 0;
  int layer = 0;
  int rank = 0;
  int expert = 0;
  std::int64_t tokens = 0;
  /// The tokens before those over capacity were dropped.
  std::optional<std::int64_t> asked_tokens = {};
  int micro_batch = 0;  ///< -1: all of the iteration together
};

/// How even the loads of one MoE layer were in one iteration. An expert's tokens are those of all
/// source ranks; a rank's are those whose expert, or its share of the expert, it computes.
struct Balance {
  std::int64_t run_id = 0;
  int iteration = 0;
  int layer = 0;
  int experts = 1;
  int unused_experts = 0;  ///< experts without a token
  std::int64_t tokens = 0;
  std::optional<std::int64_t> dropped_tokens;
  std::int64_t max_tokens = 0;    ///< the tokens of the fullest expert
  double standard_deviation = 0;  ///< that of the experts' tokens (population)
  std::optional<std::int64_t> max_rank_tokens;
  std::optional<double> mean_rank_tokens;
  std::optional<double> rank_standard_deviation;
  /// Cosine of the angle between the experts' tokens and those of the iteration before; none where
  /// there are no tokens or no iteration before.
  std::optional<double> locality;
  /// Figures of the tokens that ranks computed; none where no expert was replicated.
  std::optional<std::int64_t> placed_max_rank_tokens;
  std::optional<double> placed_rank_standard_deviation;
  /// The tokens of the fullest expert before those over capacity were dropped.
  std::optional<std::int64_t> max_asked_tokens = {};
};

/// The token copies of a rank in a MoE layer and an iteration.
struct RankLoad {
  std::int64_t run_id = 0;
  int iteration = 0;
  int layer = 0;
  int rank = 0;
  std::int64_t tokens = 0;  ///< those whose expert, or whose share of it, belongs to the rank
  std::optional<std::int64_t> asked_tokens = {};  ///< before those over capacity were dropped
  /// Those that it computed; none where no expert was replicated or moved.
  std::optional<std::int64_t> placed_tokens = {};
};

/// An expert that a rank computed, in a layer in which an expert was replicated or moved.
struct ExpertPlace {
  std::int64_t run_id = 0;
  int iteration = 0;
  int layer = 0;
  int rank = 0;
  int expert = 0;
  int replica = 0;  ///< 0 at its home, 1 where the rank holds a replica
};

/// A named set of trials over one model and machine. Unique by `name`.
struct Study {
  std::int64_t id = 0;
  std::string name;
  std::string model_json;
  std::string cluster_json;
  std::string settings_json;      ///< planners, top, repeats, steps, memory limit, routing
  std::string profile_runs_json;  ///< [12, 13]: runs from whose timelines the costs come
  std::string cost_model_json;    ///< the costs, empty until they are known
  int ranks = 1;
  std::string layout;  ///< how ranks are divided, as in Run
  double created_at = 0;
  /// [[20, 21], [20, 21, 30]]: for each refinement, the trials' runs from which its costs come too.
  std::string refinement_runs_json = {};
  /// The name under which it was begun with studies of other layouts; empty where it is alone.
  std::string part_of = {};
};

/// The status of a run or trial that has begun and not ended.
inline constexpr char kRunning[] = "running";
/// The failure of a trial whose launch has started no rank. The trial stays planned.
inline constexpr char kNotStarted[] = "not_started";
/// The failure of a trial during which a node went away. The trial stays planned, too.
inline constexpr char kLostNode[] = "lost_node";

/// The planner that decides nothing. Every speed-up is against its schedule.
inline constexpr char kSequential[] = "sequential";

/// One candidate schedule of a study with the paper's, the predicted and the measured time side by
/// side. Unique by (study_id, schedule_id).
struct Trial {
  std::int64_t id = 0;
  std::int64_t study_id = 0;
  std::int64_t schedule_id = 0;
  std::string planner;
  std::string parameters_json;  ///< its own settings, e.g. {"forward_chunks": 4}
  std::string status;  ///< "planned" | "running" | "done" | "infeasible" | "out_of_memory" | "hung"
                       ///< | "crashed" | "failed"
  std::string error;
  std::optional<double> paper_s;      ///< the paper's closed form, where the planner has one
  std::optional<double> predicted_s;  ///< simulated
  /// The median of the iterations of all repeats; once the study has ended, that of the reference
  /// of its comparison over the trial's speed-up.
  std::optional<double> measured_s;
  std::optional<double> lower_bound_s;
  std::optional<std::int64_t> predicted_peak_bytes;
  std::optional<std::int64_t> measured_peak_bytes;
  std::optional<double> started_at;
  std::optional<double> finished_at;
  double heartbeat_at = 0;
  /// The expected standard deviation of the prediction.
  std::optional<double> predicted_deviation_s = {};
  /// Other planners that came to the same schedule: "fsmoe, joint".
  std::string also_planned_by = {};
  /// The prediction before the study's first refinement.
  std::optional<double> first_predicted_s = {};
  /// The other finished trials of the study that its repeats do not tell apart from this one:
  /// "fsmoe, joint".
  std::string tied_with = {};
  /// The 95% interval of its speed-up. None until the study has ended, and where fewer than two
  /// repeats tell.
  std::optional<double> least_speedup = {}, most_speedup = {};
  /// What makes lower_bound_s so long: "rank 0 inter_node"; empty where that is not known.
  std::string bounded_by = {};
  /// Why it was not measured: "not_started", "lost_node", or its status where that is no other;
  /// empty where it was measured, or was not tried yet.
  std::string failure = {};
};

/// The costs of a study after one of its refinements.
struct StudyCosts {
  std::int64_t study_id = 0;
  int refinement = 0;  ///< 0: those of the profile
  std::string cost_model_json;
};

/// How good the predictions of a study's finished trials were. Errors are (predicted - measured) /
/// measured. Where the study has refined its costs, errors, orders and regret are those of the
/// first predictions, and of the trials that were planned with these.
struct PredictionQuality {
  std::int64_t study_id = 0;
  /// How many trials errors, orders and regret are about. The other figures are about all.
  int trials = 0;
  /// The mean of the sizes of the errors.
  double mean_error = 0;
  /// The error of largest size, with its sign.
  double worst_error = 0;
  /// The mean of the errors with their signs: what all trials have in common.
  double common_error = 0;
  /// The share of the mean square error that the common error makes.
  std::optional<double> common_share;
  /// How alike the predicted and the measured order are, from -1 to 1.
  std::optional<double> kendall_tau;
  /// The same for pairs of trials that are told apart.
  std::optional<double> kendall_tau_told_apart;
  /// The time that is lost by choosing by prediction, as a share of the best time.
  std::optional<double> regret;
  /// The share of the trials that were measured within one deviation of their newest prediction.
  std::optional<double> within_deviation;
};

/// One measured repeat of a trial.
struct TrialRepeat {
  std::int64_t trial_id = 0;
  int repeat = 0;
  std::optional<std::int64_t> run_id;
  double measured_s = 0;  ///< median iteration time of this repeat
  int steps = 0;
};

/// Seconds by units (fit_curve.h): alpha_s of none, and beta_s_per_unit for each of many.
struct Fit {
  std::int64_t id = 0;
  std::int64_t run_id = 0;  ///< the run that fitted it
  std::string op;           ///< "all_to_all", "gemm", "layer_norm", ...
  std::string device;
  int ranks = 1;
  std::string link;  ///< "inter_node" | "intra_node" | "" for computation
  double alpha_s = 0;
  double beta_s_per_unit = 0;
  std::string unit;  ///< "byte" | "flop" | ...
  double r2 = 0;
  int samples = 0;
  double min_units = 0;
  double max_units = 0;
  double max_relative_residual = 0;
  /// Standard deviation of the relative residuals; none with no more samples than coefficients.
  /// Where there is none, r2 says nothing: the curve goes through all samples.
  std::optional<double> relative_deviation = {};
  /// What was measured: the machine (none: that of the run), the network between its nodes (empty:
  /// not known, or it does not matter), and their number (0: not known, or it does not matter).
  std::optional<std::int64_t> machine_id = {};
  std::string network = {};
  int nodes = 0;
  std::optional<double> alpha_error_s = {};  ///< standard error; none: the samples do not tell
  std::optional<double> beta_error_s_per_unit = {};
  int outliers = 0;              ///< rows that are left out; not among the samples
  std::string verdict = {};      ///< "good", or what is wrong with it; empty: nobody judged
  std::string points_json = {};  ///< [[units, seconds], ...] where they are no line, else empty
};

/// One row of a microbenchmark sweep, in nccl-tests' terms.
struct Measurement {
  std::int64_t id = 0;
  std::int64_t run_id = 0;
  std::string op;
  std::string device;
  std::string dtype;
  int ranks = 1;
  /// Independent variables other than the size: {"m":..,"n":..,"k":..}. For "interference": the two
  /// activities, the time of the first alone, and the share of it during which the second ran
  /// (interference_view).
  std::string parameters_json;
  std::int64_t bytes = 0;  ///< S of nccl-tests; 0 for GEMMs
  std::int64_t count = 0;  ///< elements
  double flops = 0;
  double time_s = 0;  ///< median
  double min_s = 0;
  double max_s = 0;
  int samples = 0;
  double algorithm_bandwidth_bytes_per_s = 0;
  double bus_bandwidth_bytes_per_s = 0;
  std::int64_t wrong = 0;  ///< elements whose value was not the expected one
  /// Standard deviation of the samples over their mean; of interference that of the slowdowns of
  /// its rounds.
  std::optional<double> relative_deviation = {};
};

/// A setup that a search found (predicted_setup of schema.sql).
struct PredictedSetup {
  std::int64_t run_id = 0;
  std::string settings;  ///< of several combinations: "training.precision=bf16"
  int ranks = 1;
  int place = 1;  ///< by predicted time, of these ranks and settings
  std::string layout;
  int micro_batches = 1;
  std::string batch_per;
  std::string micro_batch_order;
  std::string planner;
  std::int64_t schedule_id = 0;
  int shard_optimizer = 0;  ///< 1: ranks that hold copies of parameters share the optimizer states
  int restored_blocks = 0;
  int whole_blocks = 0;  ///< of these, with their exchanges
  double predicted_s = 0;
  double tokens_per_s = 0;
  std::optional<double> peak_share;
  std::int64_t parameter_bytes = 0;
  std::int64_t gradient_bytes = 0;
  std::int64_t optimizer_bytes = 0;
  std::int64_t activation_bytes = 0;
  std::int64_t buffer_bytes = 0;
  std::int64_t predicted_peak_bytes = 0;
  std::optional<std::int64_t> memory_limit_bytes;
  double lower_bound_s = 0;
  std::string bounded_by;
};

/// A figure that a paper prints, beside what moelab gives for it. Unique in its run by all texts
/// but the last.
struct Figure {
  std::int64_t run_id = 0;
  std::string paper;  ///< "FSMoE" | "Lancet" | "MPMoE" | "Pro-Prophet"
  std::string place;  ///< "Table 5"
  std::string setting;
  std::string system;                 ///< "Tutel"
  std::string quantity;               ///< "speed-up over Tutel"
  std::optional<double> paper_value;  ///< none: the paper prints no such figure
  std::optional<double> value;        ///< none: moelab has no such figure
  std::string basis;                  ///< how `value` came to be: "simulated" | "measured"
};

/// Kinds of timelines.
inline constexpr char kMeasured[] = "measured";
inline constexpr char kPredicted[] = "predicted";

/// A predicted or measured timeline of one scheduled iteration over all its ranks.
struct TimelineInfo {
  std::int64_t id = 0;
  std::optional<std::int64_t> run_id;
  std::optional<std::int64_t> trial_id;
  std::string kind;  ///< kMeasured | kPredicted | "imported"
  std::string label;
  int iteration = 0;
  double duration_s = 0;
};

/// One entry of the Program; spans point at it. Timelines that share it have it once (programs.h).
struct TimelineOp {
  std::int64_t timeline_id = 0;
  int op = 0;            ///< position in the Program
  std::string name;      ///< "all_to_all dispatch"
  std::string kind;      ///< "all_to_all"
  std::string activity;  ///< "computation" | "communication" | "copy" | "host"
  std::string stream;
  std::string phase;  ///< "forward" | "backward" | "update"
  int layer = -1;     ///< -1 where none
  int chunk = 0;
  int chunks = 1;
  /// The groups that a communication runs in, each of them by itself: RankGroup::kind. Empty for
  /// other ops, and where it is not known.
  std::string group_kind = {};
};

/// An op may start on a rank only when the op `before` has ended there. Of several on one stream
/// the last is stored: the others end before it.
struct OpEdge {
  std::int64_t timeline_id = 0;
  int op = 0;
  int before = 0;
};

/// The group of a kind that a rank belongs to, named by its lowest rank.
struct RankGroup {
  std::int64_t timeline_id = 0;
  std::string kind;  ///< "expert", "tensor", ...
  int rank = 0;
  int first_rank = 0;
};

/// Whose memory holds a tensor.
inline constexpr char kDevicePool[] = "device";
inline constexpr char kHostPool[] = "host";

/// One tensor of the Program; allocations point at it.
struct TimelineTensor {
  std::int64_t timeline_id = 0;
  int tensor = 0;    ///< a number of the timeline; pipeline stages have numbers of their own
  std::string name;  ///< "block1.moe.received"
  /// "parameter" | "gradient" | "optimizer_state" | "activation" | "replica" | "input" | "result"
  std::string role;
  std::string pool;  ///< kDevicePool | kHostPool
};

/// The memory that a rank sets aside for a tensor. It is in use from the begin of the first op that
/// uses the tensor to the end of the last one; all the time where these are none.
struct Allocation {
  std::int64_t timeline_id = 0;
  int rank = 0;
  int tensor = 0;
  std::int64_t offset_bytes = 0;  ///< in the memory of its pool
  std::int64_t bytes = 0;         ///< with the padding
  std::optional<int> first_op = {};
  std::optional<int> last_op = {};
  std::optional<double> begin_s = {};
  std::optional<double> end_s = {};
};

/// The memory of a timeline's ranks; empty where it is not known.
struct TimelineMemory {
  std::vector<TimelineTensor> tensors;
  std::vector<Allocation> allocations;
};

/// One execution of one op on one rank. start_s is relative to the timeline's begin on the common
/// clock.
struct Span {
  std::int64_t timeline_id = 0;
  int rank = 0;
  int op = 0;
  double start_s = 0;
  double duration_s = 0;
  std::int64_t bytes = 0;  ///< bytes on the wire for communication, memory traffic for computation
  double flops = 0;
  /// Of a communication: until the last rank of its group began, at most the whole duration. None
  /// for other ops, and where the groups are not known.
  std::optional<double> waiting_s = {};
};

/// How a rank of a timeline spent its time (timeline/statistics.h). Worked out when a timeline is
/// stored; stays where its spans are removed.
struct RankActivity {
  std::int64_t timeline_id = 0;
  int rank = 0;
  double computation_s = 0;
  double communication_s = 0;
  double copy_s = 0;
  double exposed_s = 0;  ///< the part of communication_s during which no computation ran
  double exposed_waiting_s = 0;
  double exposed_bubble_s = 0;
};

/// The same of the spans of a rank that are alike in layer, phase and kind: sums over them, so that
/// time in which two of them ran at once counts twice.
struct OpActivity {
  std::int64_t timeline_id = 0;
  int rank = 0;
  int layer = -1;
  std::string phase;
  std::string kind;
  std::string activity;
  std::int64_t spans = 0;
  double busy_s = 0;
  std::int64_t bytes = 0;
  double flops = 0;
  std::optional<double> waiting_s = {};  ///< none where not every span tells
  /// Communication during which the rank computed nothing; none of other activities. Of it the rank
  /// waited for others of its pipeline stage, or for another stage.
  std::optional<double> exposed_s = {};
  std::optional<double> exposed_waiting_s = {};
  std::optional<double> exposed_bubble_s = {};
};

}  // namespace db
