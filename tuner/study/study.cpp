#include "tuner/study/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>

#include "db/identity.h"
#include "db/liveness.h"
#include "db/load.h"
#include "db/network.h"
#include "db/planned_by_refinement.h"
#include "db/store.h"
#include "db/transaction.h"
#include "moe/backend/cuda_module.h"
#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/model/layout_refusal.h"
#include "moe/model/model_json.h"
#include "moe/run/machine.h"
#include "moe/stop.h"
#include "tuner/costs/fit_measurements.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/scenario/given.h"
#include "tuner/scenario/routing_spec.h"
#include "tuner/study/conclusions.h"
#include "tuner/study/micro_profiles.h"
#include "tuner/study/predicted_trials.h"
#include "tuner/study/prediction.h"
#include "tuner/study/prediction_quality.h"
#include "tuner/study/profile.h"
#include "tuner/study/profile_runs.h"
#include "tuner/study/profile_schedules.h"
#include "tuner/study/profile_warning.h"
#include "tuner/study/refinement.h"
#include "tuner/study/slowed_predictions.h"
#include "tuner/study/study_outcome.h"
#include "tuner/study/study_place.h"
#include "tuner/study/study_settings.h"
#include "tuner/study/trial_runs.h"

namespace tuner {
namespace {

constexpr double kLeastTrialLimit_s = 120;
/// a trial that takes so many times its prediction counts as hanging
constexpr double kSlack = 10;
constexpr double kStaleRun_s = 60;

/// Empty where none is asked for.
std::vector<moe::Routing> routings_asked_for(const StudyOptions& options,
                                             const moe::Program& program,
                                             const moe::Groups& groups) {
  if (options.routing.empty()) return {};
  return make_routings(options.routing, program, groups,
                       static_cast<std::uint64_t>(options.model.seed), options.say);
}

class StudyRun {
 public:
  /// Errors in the model, the routing or the given files are found before there is a database, and
  /// not after minutes of profiling.
  explicit StudyRun(const StudyOptions& options)
      : options_(options),
        groups_(moe::make_groups(
            moe::parse_layout(options.job.layout, options.job.ranks, moe::fits(options.model)))),
        program_(moe::build_iteration(options.model, groups_, 0)),
        asked_routings_(routings_asked_for(options, program_, groups_)),
        given_(load_all_given(options.given, program_)),
        connection_(db::open_writer(options.job.database)) {}

  std::int64_t run() {
    open_study();
    try {
      profile();
      micro_profile();
      adopt_costs();
      predict_all();
      measure();
      while (begin_refinement()) {
        predict_all();
        measure();
      }
      judge_slowdown();
    } catch (const moe::Stopped& stopped) {
      end_run("killed", stopped.what());
      throw moe::Stopped(fmt::format("study \"{}\" stopped: {}; --resume goes on with it",
                                     options_.name, stopped.what()),
                         stopped.signal);
    } catch (const std::exception& error) {
      end_run("failed", error.what());
      throw;
    }
    for (const std::string& line : store_conclusions(connection_, study_.id)) options_.say(line);
    const std::vector<db::Trial> trials = db::load_trials(connection_, study_.id);
    const std::string nothing_fits = where_nothing_fits(trials, options_.memory_limit_bytes);
    if (!nothing_fits.empty()) options_.say(nothing_fits);
    const std::string nothing_compares = why_nothing_compares(trials);
    add_warning(nothing_compares);
    db::finish_run(connection_, run_id_, nothing_compares.empty() ? "done" : "failed", warning_);
    db::bury_runs(connection_, options_.name, hostname_);
    return study_.id;
  }

 private:
  // --- the study and its process ------------------------------------------------------------

  void open_study() {
    if (options_.job.device == "cuda" && moe::cuda_is_emulated()) {
      throw moe::InputError(
          fmt::format("study \"{}\": this CUDA device is emulated in software, and its times say "
                      "nothing about a GPU: expected --device cpu",
                      options_.name));
    }
    const db::Machine machine = moe::this_machine();
    hostname_ = machine.hostname;
    const auto found = db::find_study(connection_, options_.name);
    if (found && !options_.resume) {
      throw moe::InputError(
          fmt::format("study \"{}\" exists in {}: add --resume to continue it, or name another",
                      options_.name, options_.job.database));
    }
    if (found) {
      study_ = *found;
      check_same_inputs(study_, options_, groups_.layout, given_);
      warn(check_begun_here(connection_, study_, this_place(machine)));
      if (const auto pid = db::process_of_study(connection_, options_.name, hostname_)) {
        throw moe::InputError(
            fmt::format("study \"{}\" is being run by process {}", options_.name, *pid));
      }
      db::bury_runs(connection_, options_.name, hostname_);
      db::mark_stale_runs_killed(connection_, kStaleRun_s);
      const int requeued = db::requeue_stale_trials(connection_, study_.id, 0);
      options_.say(
          fmt::format("study {} resumed, {} interrupted trials go on", options_.name, requeued));
    } else {
      study_.name = options_.name;
      study_.model_json = moe::to_json(options_.model);
      study_.settings_json = settings_json(options_, given_);
      study_.ranks = options_.job.ranks;
      study_.layout = layout_text();
      study_.id = db::insert(connection_, study_);
    }
    how_measured_ = how_measured(options_, study_.settings_json);
    std::vector<const char*> argv;
    for (const std::string& argument : options_.argv) argv.push_back(argument.c_str());
    db::Run run = db::this_run("study", options_.name, static_cast<int>(argv.size()), argv.data());
    run.device = options_.job.device;
    run.ranks = options_.job.ranks;
    run.layout = study_.layout;
    run.model_json = study_.model_json;
    run.seed = options_.model.seed;
    run_id_ = db::begin_run(connection_, run, machine);
  }

  /// For the run's record.
  void add_warning(const std::string& text) {
    if (text.empty()) return;
    warning_ += (warning_.empty() ? "" : "\n") + text;
  }
  void warn(const std::string& text) {
    if (!text.empty()) options_.say(text);
    add_warning(text);
  }

  std::string layout_text() const { return to_text(groups_.layout); }

  /// After a failure that matters more than one of the database. A trial that it interrupted is
  /// tried again.
  void end_run(const std::string& status, const std::string& error) {
    try {
      db::requeue_stale_trials(connection_, study_.id, 0);
      db::finish_run(connection_, run_id_, status, error);
    } catch (const db::Error& other) {
      if (error != other.what()) options_.say(other.what());
    }
  }

  void stay_alive() { db::heartbeat_run(connection_, run_id_); }

  /// Between steps that take long.
  void go_on() {
    stay_alive();
    if (const int signal = moe::stop_signal()) throw moe::Stopped(moe::stop_reason(signal), signal);
  }

  // --- 1. profile ---------------------------------------------------------------------------

  void profile() {
    const moe::Routing expected = asked_routings_.empty()
                                      ? make_routing("uniform", program_, groups_, 0)
                                      : asked_routings_.front();
    const ProfileRuns runs = run_profiles(
        connection_, study_, options_.job,
        those_that_fit(
            program_, groups_, expected, options_.job.memory_limit_bytes,
            schedules_to_profile(program_, given_, options_.planners, options_.most_chunks),
            options_.say),
        {how_measured_.profile_rounds, how_measured_.most_of_others, [this] { stay_alive(); },
         options_.say, [this](std::int64_t run) { warn(place_.check(run)); }});
    profile_runs_ = runs.runs;
    const Profile profile = profile_with({});
    profile_costs_ = profile.machine.costs;
    std::vector<double> errors;
    for (const auto& of_run : profile.errors) std::ranges::copy(of_run, std::back_inserter(errors));
    const std::vector<ProfileQuality> qualities = profile_qualities(runs, profile.errors);
    options_.say(
        fmt::format("the {} profiled iterations are predicted {}; by schedule (medians): {}",
                    errors.size(), within_in_words(errors), errors_by_schedule(qualities)));
    warn(profile_warning(qualities));
    take(profile);
  }

  /// The costs of the profile and of what was trained since.
  Profile profile_with(const LaterRuns& later) const {
    return profile_from_runs(connection_, options_.model, layout_text(), profile_runs_, later);
  }

  /// Runs the micro-profiles that planners ask for, so that predictions are at their pace too.
  /// After a refinement they are at the pace of the trials.
  void micro_profile() {
    if (const auto refined = last_refinement(study_); !refined.empty()) {
      take(profile_with({{}, refined}));
      return;
    }
    std::vector<std::int64_t> known;
    for (auto runs = micro_profiled(); runs != known; runs = micro_profiled()) {
      const Profile profile = profile_with({runs, {}});
      if (known.empty()) {
        options_.say(fmt::format(
            "at the median of the profile's rounds and {} micro-profiles computation takes {:.2f} "
            "times as long as in the profile: predictions are for that pace",
            runs.size(), profile.pace));
      }
      take(profile);
      known = std::move(runs);  // at another pace a planner may ask for more
    }
  }

  /// The runs of micro-profiles from before any trial, those that planners ask for now among them.
  std::vector<std::int64_t> micro_profiled() {
    const Situation simulated = situation();
    MicroProfiles micro_profiles = make_micro_profiles(simulated);
    const Situation measured = measuring(simulated, micro_profiles);
    for (const PlannerRequest& request : options_.planners) {
      if (chooses_by_micro_profiles(request)) {
        candidates_of(*request.planner, measured, planner_options(request), given_);
      }
    }
    return micro_profile_runs(connection_, study_);
  }

  void take(const Profile& profile) {
    groups_ = program_.groups = profile.groups;
    machine_ = profile.machine;
    // Planners may use as much of a rank's memory as the study was asked to keep to.
    planned_cluster_ = machine_.cluster;
    if (options_.memory_limit_bytes > 0) {
      planned_cluster_.memory_bytes = options_.memory_limit_bytes;
    }
    routings_ = asked_routings_.empty() ? profile.routings : asked_routings_;
    const Planner& sequential = planner_named(db::kSequential);
    CostModel even = machine_.costs;  // the routing is to be typical, not the ranks that it met
    even.slowdowns.clear();
    Situation any{program_, groups_, routings_.front(), even, machine_.cluster};
    any.routings = routings_;
    typical_ = predict(any, sequential, sequential.plan(any, {})).routing;
  }

  // --- 2. predict ---------------------------------------------------------------------------

  Situation situation() const { return situation(machine_.costs); }
  /// With other costs, which have to live as long.
  Situation situation(const CostModel& costs) const {
    Situation all{program_, groups_, typical_, costs, planned_cluster_};
    all.routings = routings_;
    return all;
  }

  PredictedBy predicted_by(const Situation& situation) const {
    return {situation, study_.id, run_id_};
  }

  /// Predicts the known trials of a resumed study again where costs have changed: it may have
  /// profiled more (copies, given files), and predictions by different costs cannot be ranked.
  /// Meanwhile the study has no costs, so that a process that resumes it after a kill does this
  /// again.
  void adopt_costs() {
    const std::string costs = to_json(machine_.costs);
    if (study_.cost_model_json == costs) return;
    const CostModel before =
        study_.cost_model_json.empty() ? CostModel{} : cost_model_from_json(study_.cost_model_json);
    study_.cost_model_json.clear();
    db::update_study(connection_, study_);
    CostModel costs_without_drift = machine_.costs;  // for trials that they were fitted to
    costs_without_drift.drift_deviation.reset();
    const Situation now = situation(), without_drift = situation(costs_without_drift);
    const std::vector<std::int64_t> refined = last_refinement(study_);
    const NewCosts kind = refined.empty() ? NewCosts::profiled : NewCosts::refined;
    for (const db::Trial& trial : db::load_trials(connection_, study_.id)) {
      go_on();
      const auto stored = db::load_schedule(connection_, trial.schedule_id);
      const bool is_fitted = has_run_of(db::load_trial_repeats(connection_, trial.id), refined);
      predict_again(connection_, predicted_by(is_fitted ? without_drift : now), trial,
                    moe::schedule_from_json(stored.json), kind);
    }
    std::vector<db::Fit> fits = changed_fits(before, machine_.costs, options_.job.ranks);
    for (db::Fit& fit : fits) {
      fit.run_id = run_id_;
      fit.network = db::this_network();
      fit.nodes = machine_.cluster.nodes;
    }
    db::Transaction transaction(connection_, "store a profile");
    db::insert(connection_, fits);
    study_.cost_model_json = costs;
    study_.cluster_json = to_json(machine_.cluster);
    db::update_study(connection_, study_);
    transaction.commit();
  }

  void predict_all() {
    const Situation simulated = situation();
    MicroProfiles micro_profiles = make_micro_profiles(simulated);
    const Situation measured = measuring(simulated, micro_profiles);
    std::map<std::string, std::int64_t> seen;  // decisions -> their trial
    for (const db::Trial& trial : db::load_trials(connection_, study_.id)) {
      const auto stored = db::load_schedule(connection_, trial.schedule_id);
      seen.emplace(moe::decisions_json(moe::schedule_from_json(stored.json)), trial.id);
    }
    const std::size_t refinement = refinements_of(study_).size();
    int made = 0;
    std::vector<PlannerRequest> requests{{&planner_named(db::kSequential), {}}};
    requests.insert(requests.end(), options_.planners.begin(), options_.planners.end());
    for (const PlannerRequest& request : requests) {
      const Situation& decides_from = chooses_by_micro_profiles(request) ? measured : simulated;
      const PlannerOptions with = planner_options(request);
      auto [all, refused] = candidates_of(*request.planner, decides_from, with, given_);
      for (const std::string& reason : refused) options_.say("left out: " + reason);
      if (request.planner->measures && !all.empty()) {
        options_.say(request.planner->remark(decides_from, with, all.front().schedule));
      }
      for (Candidate& candidate : all) {
        const auto [known, is_new] = seen.try_emplace(moe::decisions_json(candidate.schedule), 0);
        if (!is_new) {
          db::name_planner(connection_, known->second, candidate.planner);
          continue;
        }
        go_on();
        if (const std::string names = moe::changes_results(candidate.schedule); !names.empty()) {
          options_.say(fmt::format("{} {}: {} changes results: its losses are not the others'",
                                   candidate.planner, candidate.parameters_json, names));
        }
        if (refinement > 0) {
          candidate.parameters_json =
              join_parameters(candidate.parameters_json,
                              fmt::format(R"({{"{}": {}}})", db::kRefinement, refinement));
        }
        known->second = store_candidate(connection_, predicted_by(simulated), *request.planner,
                                        candidate, options_.memory_limit_bytes);
        ++made;
      }
    }
    options_.say(fmt::format("{} candidates predicted, {} known before", made,
                             seen.size() - static_cast<std::size_t>(made)));
  }

  PlannerOptions planner_options(const PlannerRequest& request) const {
    PlannerOptions with = request.options;
    with.most_chunks = options_.most_chunks;
    return with;
  }

  bool chooses_by_micro_profiles(const PlannerRequest& request) const {
    return request.planner->measures && options_.micro_profile_steps > 0;
  }

  /// The same situation, in which planners can measure. `micro_profiles` has to live as long.
  Situation measuring(Situation situation, MicroProfiles& micro_profiles) {
    situation.measure = [this, &micro_profiles](const moe::Schedule& schedule) {
      go_on();
      return micro_profiles.seconds(schedule);
    };
    return situation;
  }

  /// `situation` has to live as long.
  MicroProfiles make_micro_profiles(const Situation& situation) {
    MicroProfileOptions options;
    options.study = options_.name;
    options.run_id = run_id_;
    options.job = options_.job;
    options.iterations = options_.micro_profile_steps;
    options.most_of_others = how_measured_.most_of_others;
    options.dtype = moe::name_of(options_.model.dtype);
    options.time_limit_s = [&](const moe::Schedule& schedule) {
      return trial_time_limit_s(simulated_s(situation, schedule));
    };
    options.alive = [this] { stay_alive(); };
    options.say = options_.say;
    options.check_run = [this](std::int64_t run) { warn(place_.check(run)); };
    return {connection_, std::move(options)};
  }

  double trial_time_limit_s(double predicted_s) const {
    if (options_.trial_time_limit_s > 0) return options_.trial_time_limit_s;
    return kLeastTrialLimit_s + kSlack * predicted_s * options_.job.steps;
  }

  // --- 3. measure ---------------------------------------------------------------------------

  void measure() {
    const TrialRuns how{study_.id,
                        options_.job,
                        options_.top,
                        options_.repeats,
                        how_measured_.most_of_others,
                        [this](double predicted_s) { return trial_time_limit_s(predicted_s); },
                        [this] { stay_alive(); },
                        options_.say,
                        [this](std::int64_t run) { warn(place_.check(run)); }};
    add_warning(train_trials(connection_, how));
  }

  // --- 4. refine ----------------------------------------------------------------------------

  /// Fits costs to all that was measured and predicts all trials by them. False where no refinement
  /// is left, or it would change nothing.
  bool begin_refinement() {
    const auto number = static_cast<int>(refinements_of(study_).size()) + 1;
    if (number > how_measured_.refinements) return false;
    const std::vector<std::int64_t> runs = runs_of_next_refinement(connection_, study_);
    if (runs.empty()) {
      options_.say("no further refinement: the best schedule stays the same");
      return false;
    }
    go_on();
    const std::string before = predicted_within(db::load_trials(connection_, study_.id));
    add_refinement(study_, runs);
    db::update_study(connection_, study_);
    take(profile_with({{}, runs}));
    adopt_costs();
    options_.say(fmt::format(
        "refinement {} of {}: with costs fitted to {} measured runs too, trials are predicted {}; "
        "before {}",
        number, how_measured_.refinements, runs.size(),
        predicted_within(db::load_trials(connection_, study_.id)), before));
    return true;
  }

  // --- 5. conclude --------------------------------------------------------------------------

  /// Compares how fast trials computed with the profile, without what refinements added to it. A
  /// study whose stored runs do not tell ends without this figure.
  void judge_slowdown() {
    go_on();
    try {
      store_slowed_predictions(connection_, study_.id, situation(profile_costs_), profile_runs_,
                               [this] { go_on(); });
    } catch (const db::Error& error) {
      options_.say(fmt::format("how slowly the trials computed is not known: {}", error.what()));
    }
  }

  const StudyOptions& options_;
  moe::Groups groups_;
  moe::Program program_;
  std::vector<moe::Routing> asked_routings_;  ///< instead of the profile's
  std::vector<Given> given_;
  db::Connection connection_;
  db::Study study_;
  StudyPlace place_{connection_, study_};
  HowMeasured how_measured_;
  std::vector<std::int64_t> profile_runs_;
  CostModel profile_costs_;  ///< of these alone, without what refinements added
  std::int64_t run_id_ = 0;
  std::string hostname_;
  CostedCluster machine_;
  Cluster planned_cluster_;             ///< machine_'s, with the memory that is asked for
  std::vector<moe::Routing> routings_;  ///< of the iterations that are predicted
  moe::Routing typical_;                ///< the one whose sequential iteration is of median length
  std::string warning_;                 ///< of profile and repeats, for the run's record
};

}  // namespace

std::int64_t run_study(const StudyOptions& options) { return StudyRun(options).run(); }

}  // namespace tuner
