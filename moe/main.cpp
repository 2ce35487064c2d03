#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "db/console/format_rows.h"
#include "db/console/options.h"
#include "db/console/output_file.h"
#include "db/console/statistics.h"
#include "db/console/version.h"
#include "db/identity.h"
#include "db/store.h"
#include "moe/communicator/launch.h"
#include "moe/communicator/open_device.h"
#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/model/misfit.h"
#include "moe/source_tree.h"
#include "moe/stop.h"
#include "moe/train/train_store.h"
#include "moe/train/trainer.h"
#include "tuner/planners/planners.h"

namespace moe {
namespace {

constexpr int kMostIterations = 1'000'000'000;

struct Arguments {
  std::string model;
  std::vector<std::filesystem::path> data;
  int steps = 100;
  std::optional<int> ranks;
  std::string layout;
  std::string device = "cpu";
  std::string schedule;
  std::string planner;
  std::string cluster;
  int plan_every = 0;
  bool plan_beside = false;
  int micro_profile_steps = 0;
  std::string database;
  int threads = 0;
  std::optional<std::int64_t> seed;
  std::int64_t memory_limit_bytes = 0;
  double time_limit_s = 60;
  double copy_gbps = 0;
  int evaluate_every = 0;
  int evaluate_batches = 4;
  int log_every = 10;
  int timelines = 1;
  std::optional<int> loads_every;
  std::string print_program;
  std::string format = "table";
  std::string color = "auto";
};

void declare(CLI::App& app, Arguments& a) {
  app.add_option("--model", a.model, "name in experiments/models, or a TOML file")->required();
  app.add_option("--data", a.data,
                 "text files, or .bin files of uint16 tokens [this repository's text]");
  app.add_option("--steps", a.steps, "iterations")
      ->capture_default_str()
      ->check(db::options::whole_number(1, kMostIterations));
  app.add_option("--ranks", a.ranks, "ranks; outside an MPI job starts mpirun [1, or the job's]")
      ->check(db::options::whole_number(1, db::options::kMostRanks));
  app.add_option("--layout", a.layout, kLayoutHelp);
  app.add_option("--device", a.device, "where to compute")
      ->capture_default_str()
      ->check(db::options::one_of({"cpu", "cuda"}));
  auto* schedule =
      app.add_option("--schedule", a.schedule, "Schedule as JSON [one stream, nothing overlapped]");
  auto* cluster =
      app.add_option("--cluster", a.cluster,
                     "what --planner plans for: a name in experiments/clusters, a TOML file, or "
                     "measured (with --db)");
  app.add_option("--planner", a.planner, "or the planner that makes it, as moe-tune plan does")
      ->excludes(schedule)
      ->needs(cluster)
      ->check(db::options::not_empty());
  cluster->needs("--planner");
  app.add_option("--plan-every", a.plan_every,
                 "iterations between plans made from the routing just seen; 0 = one plan for even "
                 "routing, before the first")
      ->capture_default_str()
      ->check(db::options::whole_number(0, kMostIterations))
      ->needs("--planner");
  app.add_flag(
         "--plan-beside", a.plan_beside,
         "plan on a thread of its own beside the next iteration: what has been seen rules from "
         "the one behind it on; an iteration waits only for a plan that takes longer than one")
      ->needs("--plan-every");
  app.add_option(
         "--micro-profile-steps", a.micro_profile_steps,
         "a planner that chooses by micro-profiles (mpmoe_pb) does so in this training, each of "
         "so many iterations; 0 = it chooses by simulation")
      ->capture_default_str()
      ->check(db::options::whole_number(0, kMostIterations))
      ->needs("--planner")
      ->excludes("--plan-every");
  app.add_option("--db", a.database, "result database; created where there is none")
      ->check(db::options::not_empty());
  app.add_option("--threads", a.threads,
                 "CPU threads per rank [OMP_NUM_THREADS, or cores divided by ranks]")
      ->check(db::options::whole_number(1, db::options::kMostThreads));
  app.add_option("--seed", a.seed, "overrides the model's seed")
      ->check(db::options::whole_number(0));
  app.add_option("--memory-limit", a.memory_limit_bytes, "bytes of arena per rank, with K, M, G")
      ->transform(db::options::size_in_bytes());
  app.add_option("--time-limit", a.time_limit_s, "seconds that any one wait may last")
      ->capture_default_str()
      ->check(db::options::seconds());
  app.add_option(
         "--copy-gbps", a.copy_gbps,
         "with --device cpu: copies to and from the second pool of memory, which a schedule "
         "may offload to, sleep until a link of so many Gbit/s would have carried them; 0 = "
         "as fast as memory")
      ->capture_default_str()
      ->check(db::options::gigabits_per_second());
  app.add_option("--evaluate-every", a.evaluate_every,
                 "iterations between held-out losses [only the last]")
      ->check(db::options::whole_number(0, kMostIterations));
  app.add_option("--evaluate-batches", a.evaluate_batches, "batches per held-out loss; 0 = none")
      ->capture_default_str()
      ->check(db::options::whole_number(0, kMostIterations));
  app.add_option("--log-every", a.log_every, "iterations between rows of output")
      ->capture_default_str()
      ->check(db::options::whole_number(1, kMostIterations));
  app.add_option("--timelines", a.timelines, "typical iterations whose timeline is stored")
      ->capture_default_str()
      ->check(db::options::whole_number(0, 1000));
  app.add_option("--loads-every", a.loads_every,
                 "iterations between those whose loads per expert and rank are stored; 0 = only "
                 "those with a timeline [as many as make a million rows]")
      ->check(db::options::whole_number(0, kMostIterations));
  app.add_flag("--print-program{scheduled}", a.print_program,
               "print the scheduled ops and end; =passes: after every decision too")
      ->check(db::options::one_of({"scheduled", "passes"}));
  app.add_option("--format", a.format, "table, csv (a row per iteration) or json (one summary)")
      ->capture_default_str()
      ->check(db::options::one_of({"table", "csv", "json"}));
  app.add_option("--color", a.color, "auto, always or never")
      ->capture_default_str()
      ->check(db::options::one_of({"auto", "always", "never"}));
  app.set_version_flag("--version", [] { return db::version_line("moe-train"); });
  app.footer(
      "Examples:\n"
      "  moe-train --model tiny --steps 300\n"
      "  moe-tune plan --model tiny --ranks 4 --cluster box --planner tutel:2 -o overlapped.json\n"
      "  moe-train --model tiny --ranks 4 --schedule overlapped.json --db results.db\n"
      "  moe-train --model box-small --ranks 4 --planner pipemoe --cluster box\n"
      "  moe-train --model tiny --data corpus/*.txt --evaluate-every 50 --format csv > "
      "losses.csv\n\n"
      "Exit codes: 0 done, 1 a run failed or a loss is not finite, 2 wrong use or wrong file, 124 "
      "time "
      "limit,\n128 + N ended by signal N.");
}

/// Prints rows as they come and keeps what the summary needs.
class Report {
 public:
  Report(const Arguments& arguments, const Model& model)
      : arguments_(arguments),
        tokens_(model.global_batch * model.sequence_length),
        weighs_z_loss_(model.z_loss_weight > 0) {
    const auto format = *db::parse_format(arguments.format);
    if (format != db::Format::json) {
      std::vector<std::string> columns{"iteration",      "loss",        "heldout_loss",
                                       "auxiliary_loss", "iteration_s", "tokens_per_s",
                                       "dropped"};
      if (weighs_z_loss_) columns.emplace_back("z_loss");
      writer_.emplace(stdout, db::Style{format, db::use_color(arguments.color, stdout)},
                      std::move(columns));
    }
  }

  void observe(const StepReport& step) {
    last_ = step;
    last_.timeline = {};
    const auto raise = [](std::int64_t& peak, const std::vector<std::int64_t>& by_rank) {
      for (const std::int64_t bytes : by_rank) peak = std::max(peak, bytes);
    };
    raise(planned_peak_bytes_, step.planned_peak_bytes);
    raise(planned_host_peak_bytes_, step.planned_host_peak_bytes);
    raise(touched_peak_bytes_, step.touched_peak_bytes);
    if (step.iteration > kWarmupIterations || arguments_.steps <= kWarmupIterations) {
      durations_.push_back(step.duration_s);
    }
    const bool all = arguments_.format == "csv";
    if (writer_ && (all || step.iteration == 1 || step.iteration % arguments_.log_every == 0 ||
                    step.heldout_loss)) {
      std::vector<db::Cell> row{std::int64_t{step.iteration},
                                step.loss,
                                step.heldout_loss ? db::Cell(*step.heldout_loss) : db::Cell(),
                                step.auxiliary_loss,
                                step.duration_s,
                                static_cast<double>(tokens_) / step.duration_s,
                                step.dropped};
      if (weighs_z_loss_) row.emplace_back(step.z_loss);
      writer_->row(row);
      writer_->flush();
    }
  }

  void observe(const PlanningTime& time) { planning_ = time; }

  void finish(std::optional<std::int64_t> run_id) {
    const double median = durations_.empty() ? 0 : db::median(durations_);
    if (writer_) {
      writer_->finish();
      if (arguments_.format == "table") {
        std::cerr << fmt::format(
            "{} iterations, median {}{}\n", last_.iteration, db::format_cell("iteration_s", median),
            run_id ? fmt::format(", run {} in {}", *run_id, arguments_.database) : "");
        if (planning_.plans > 0) {
          std::cerr << fmt::format("{} plans in {}, {} of it between iterations\n", planning_.plans,
                                   db::format_cell("total_s", planning_.total_s),
                                   db::format_cell("exposed_s", planning_.exposed_s));
        }
      }
      return;
    }
    nlohmann::json json{{"steps", last_.iteration},
                        {"iteration_s", median},
                        {"loss", last_.loss},
                        {"auxiliary_loss", last_.auxiliary_loss},
                        {"planned_peak_bytes", planned_peak_bytes_},
                        {"measured_peak_bytes", touched_peak_bytes_}};
    if (planned_host_peak_bytes_ > 0) json["planned_host_peak_bytes"] = planned_host_peak_bytes_;
    if (weighs_z_loss_) json["z_loss"] = last_.z_loss;
    if (last_.heldout_loss) json["heldout_loss"] = *last_.heldout_loss;
    if (planning_.plans > 0) {
      json["plans"] = planning_.plans;
      json["planning_s"] = planning_.total_s;
      json["exposed_planning_s"] = planning_.exposed_s;
    }
    if (run_id) json["run"] = *run_id;
    std::cout << json.dump() << '\n';
  }

 private:
  const Arguments& arguments_;
  std::int64_t tokens_;
  bool weighs_z_loss_;
  std::int64_t planned_peak_bytes_ = 0, touched_peak_bytes_ = 0;  ///< of any rank and iteration
  std::int64_t planned_host_peak_bytes_ = 0;
  std::optional<db::RowWriter> writer_;
  std::vector<double> durations_;
  PlanningTime planning_;
  StepReport last_;
};

struct Inputs {
  Model model;
  Schedule schedule;           ///< what training begins with
  tuner::PlanInTraining plan;  ///< empty without --planner
  bool profiles = false;       ///< the planner chooses by micro-profiles where there are any
  Corpus corpus;
};

/// Everything that can be wrong with the user's files is found here, before any rank is started.
Inputs read_inputs(const Arguments& arguments) {
  if (arguments.plan_beside && arguments.plan_every == 0) {
    throw InputError(
        "--plan-beside: with --plan-every 0 there is one plan, before the first iteration: "
        "expected --plan-every 1 or more");
  }
  Inputs inputs;
  inputs.model = load_model(find_input(arguments.model, source_tree() / "experiments" / "models"));
  if (arguments.seed) inputs.model.seed = *arguments.seed;
  if (!arguments.schedule.empty()) {
    inputs.schedule = load_schedule(arguments.schedule);
  } else if (!arguments.planner.empty()) {
    inputs.plan = tuner::plan_in_training(
        {arguments.planner, arguments.model, arguments.cluster,
         arguments.cluster == "measured" ? arguments.database : "",
         arguments.ranks.value_or(mpi_job_size().value_or(1)), arguments.layout,
         arguments.plan_every, arguments.memory_limit_bytes,
         [](const std::string& text) { std::cerr << "moe-train: " << text << '\n'; }});
    inputs.schedule = inputs.plan({});
    inputs.profiles = tuner::parse_planner(arguments.planner).planner->profiles;
    if (arguments.micro_profile_steps > 0 && !inputs.profiles) {
      throw InputError(fmt::format(
          "--micro-profile-steps: planner {} plans without: expected mpmoe_pb, or no such option",
          arguments.planner));
    }
  } else {
    inputs.schedule.planner = "sequential";
  }
  inputs.corpus =
      open_corpus(arguments.data, {inputs.model.vocabulary, inputs.model.sequence_length, 0.1});
  const int ranks = arguments.ranks.value_or(1);
  if (!inside_mpi_job()) {
    const Groups groups = make_groups(parse_layout(arguments.layout, ranks, fits(inputs.model)));
    check_applies(build_iteration(inputs.model, groups, 0), inputs.schedule, arguments.schedule);
    if (!arguments.database.empty()) {
      db::open_writer(arguments.database, {.busy_timeout_s = arguments.time_limit_s});
    }
  }
  return inputs;
}

/// The ops as they are scheduled, or after every decision that schedules them.
void print_program(const Program& program, const Schedule& schedule, bool every_pass) {
  const auto print = [](const std::string& title, const Program& shown) {
    std::cout << "# " << title << '\n' << to_text(shown);
  };
  if (!every_pass) {
    std::cout << to_text(apply(program, schedule));
    return;
  }
  print("the iteration", program);
  apply(program, schedule,
        [&](const Decision& decision, const Program& shown) { print(to_json(decision), shown); });
}

void run(const Arguments& arguments, Inputs inputs, Communicator& world, int argc, char** argv) {
  const std::vector<RankInfo> ranks = survey_ranks(world);
  const Groups groups =
      make_groups(parse_layout(arguments.layout, world.size, fits(inputs.model)), nodes_of(ranks));
  const Program program = build_iteration(inputs.model, groups, world.rank);
  if (!arguments.print_program.empty()) {
    if (world.rank == 0) {
      print_program(program, inputs.schedule, arguments.print_program == "passes");
    }
    return;
  }

  const OpenDevice device = open_device(world, ranks,
                                        {arguments.device == "cuda", arguments.threads,
                                         arguments.time_limit_s, arguments.copy_gbps * 1e9 / 8});
  TrainOptions options;
  options.run.device_world = device.nccl.get();
  options.steps = arguments.steps;
  options.evaluate_every = arguments.evaluate_every;
  options.evaluate_batches = arguments.evaluate_batches;
  options.run.time_limit_s = arguments.time_limit_s;
  options.run.memory_limit_bytes =
      arguments.memory_limit_bytes > 0 ? arguments.memory_limit_bytes : device.memory_bytes;
  options.run.record_spans = arguments.timelines > 0;
  if (arguments.plan_every > 0) {
    options.replan = [&](const SeenIteration& seen) -> std::optional<Schedule> {
      if (seen.iteration % arguments.plan_every != 0) return std::nullopt;
      return inputs.plan({&seen.routing, &seen.ruling});
    };
    options.planning = arguments.plan_beside ? PlanningTurn::beside : PlanningTurn::between;
  }
  std::optional<tuner::PlanByProfiles> profiled;
  if (arguments.micro_profile_steps > 0) {
    profiled = tuner::plan_by_profiles(
        inputs.plan, arguments.micro_profile_steps, [&](int iteration, int profiles) {
          std::cerr << fmt::format("moe-train: iteration {}: {} has chosen by {} micro-profiles\n",
                                   iteration, arguments.planner, profiles);
        });
    options.replan = profiled->replan;
  }

  std::optional<Report> report;
  std::optional<TrainStore> store;
  if (world.rank == 0) {
    std::cerr << fmt::format(
        "moe-train: {} on {} rank{} ({}), {}schedule {}, {}\n", inputs.model.name, world.size,
        world.size == 1 ? "" : "s", device.backend->name(),
        world.size == 1 ? "" : "layout " + to_text(groups.layout) + ", ",
        inputs.schedule.planner.empty() ? "of " + arguments.schedule : inputs.schedule.planner,
        inputs.corpus.description);
    if (inputs.profiles && arguments.micro_profile_steps == 0) {
      std::cerr << fmt::format(
          "moe-train: {} has chosen by simulation; --micro-profile-steps chooses by running\n",
          arguments.planner);
    }
    if (const std::string names = changes_results(inputs.schedule); !names.empty()) {
      std::cerr << fmt::format(
          "moe-train: {} changes results: losses are not those of other schedules\n", names);
    }
    report.emplace(arguments, inputs.model);
    if (!arguments.database.empty()) {
      db::Run run = db::this_run("train", inputs.model.name, argc, argv);
      run.device = arguments.device;
      run.ranks = world.size;
      run.layout = to_text(groups.layout);
      run.model_json = to_json(inputs.model);
      run.seed = inputs.model.seed;
      store.emplace(TrainStoreOptions{.database = arguments.database,
                                      .timelines = arguments.timelines,
                                      .time_limit_s = arguments.time_limit_s,
                                      .steps = arguments.steps,
                                      .loads_every = arguments.loads_every,
                                      .threads = device.threads},
                    std::move(run), schedule_row(inputs.schedule), ranks, groups);
    }
  }
  try {
    TrainObserver observer;
    observer.schedule = [&](int iteration, const Schedule& schedule, const Program& scheduled) {
      if (store) store->observe(iteration, schedule, scheduled);
    };
    if (arguments.plan_every > 0) {
      observer.planned = [&](const PlanningTime& time) { report->observe(time); };
    }
    observer.moved = [](int iteration, const ExpertTraffic& traffic, double duration_s) {
      std::cerr << fmt::format(
          "moe-train: before iteration {}: {} experts to other ranks, {} in {}\n", iteration,
          traffic.experts, db::format_cell("bytes", traffic.bytes),
          db::format_cell("duration_s", duration_s));
    };
    observer.step = [&](const StepReport& step) {
      if (store) store->observe(step);
      if (store && step.iteration == 1 && !arguments.loads_every && store->loads_every() > 1) {
        std::cerr << fmt::format(
            "moe-train: loads per expert and rank are stored every {} iterations; --loads-every "
            "changes that\n",
            *store->loads_every());
      }
      try {
        report->observe(step);
      } catch (const db::OutputError& error) {
        if (!error.closed()) throw;  // else SIGPIPE says so too, and all ranks end in order
      }
    };
    train(inputs.model, program, inputs.schedule, inputs.corpus, groups, *device.backend, world,
          ranks, options, observer);
    if (world.rank == 0 && profiled && !profiled->has_chosen()) {
      std::cerr << fmt::format(
          "moe-train: {} has not chosen yet: training ended after {} micro-profiles; more --steps, "
          "or fewer --micro-profile-steps\n",
          arguments.planner, profiled->profiles());
    }
    if (store) store->finish();
  } catch (const db::OutputError& error) {
    if (store) store->abandon("failed", error.what());
    throw;
  } catch (const std::exception& error) {
    const bool killed = stop_signal() != 0 || dynamic_cast<const Stopped*>(&error) != nullptr;
    if (store) store->abandon(killed ? "killed" : "failed", error.what());
    throw;
  }
  if (report) report->finish(store ? std::optional(store->run_id()) : std::nullopt);
}

/// What every rank throws needs one message, and nobody has to be told.
int end_together(std::optional<int> rank, const std::exception& error) {
  if (rank.value_or(0) == 0) std::cerr << fmt::format("moe-train: {}\n", error.what());
  finalize_mpi();
  return exit_code(error);
}

}  // namespace
}  // namespace moe

int main(int argc, char** argv) {
  moe::Arguments arguments;
  CLI::App app("Trains a Mixture-of-Experts transformer for real, under any schedule.",
               "moe-train");
  moe::declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return db::flushed("moe-train", app.exit(error) == 0 ? 0 : 2);
  }
  moe::choose_waiting(arguments.ranks, arguments.threads, argv);
  std::optional<int> rank;
  try {
    moe::Inputs inputs = moe::read_inputs(arguments);
    moe::stop_when_asked();
    const std::unique_ptr<moe::Communicator> world =
        moe::join_world(arguments.ranks, argv, arguments.time_limit_s);
    rank = world->rank;
    moe::run(arguments, std::move(inputs), *world, argc, argv);
  } catch (const db::OutputError& error) {
    if (!error.closed()) std::cerr << "moe-train: " << error.what() << '\n';
    moe::abort_job(error.closed() ? 0 : 1);
  } catch (const moe::Stopped& stopped) {
    return moe::end_together(rank, stopped);
  } catch (const moe::NotFinite& error) {
    return moe::end_together(rank, error);
  } catch (const std::exception& error) {
    const std::string_view text = error.what();
    const bool name_rank = rank && !text.starts_with("rank ");
    std::cerr << (name_rank ? fmt::format("moe-train: rank {}: {}\n", *rank, text)
                            : fmt::format("moe-train: {}\n", text));
    moe::abort_job(moe::stop_signal() != 0 ? 128 + moe::stop_signal() : moe::exit_code(error));
  }
  moe::finalize_mpi();
  return db::flushed("moe-train", 0);
}
