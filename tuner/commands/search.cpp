#include "tuner/search/search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/best_trial.h"
#include "db/connection.h"
#include "db/console/format_rows.h"
#include "db/console/output_file.h"
#include "db/error.h"
#include "db/output_place.h"
#include "moe/errors.h"
#include "moe/input/setting.h"
#include "moe/input/sizes.h"
#include "moe/model/model_figures.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/printing.h"
#include "tuner/commands/store_search.h"
#include "tuner/costs/cost_model.h"
#include "tuner/scenario/measured_costs.h"
#include "tuner/scenario/routing_spec.h"
#include "tuner/scenario/sweep.h"

namespace tuner {
namespace {

/// The name of a file that is stdout: then the best schedule stands there, in place of the table.
constexpr const char* kStdout = "-";

/// A column of the table, and what it has of a row.
struct FoundColumn {
  const char* name;
  db::Cell (*cell)(const db::PredictedSetup&);
};

using Found = const db::PredictedSetup&;
constexpr FoundColumn kFoundColumns[]{
    {"place", [](Found of) -> db::Cell { return std::int64_t{of.place}; }},
    {"predicted_s", [](Found of) -> db::Cell { return of.predicted_s; }},
    {"tokens_per_s", [](Found of) -> db::Cell { return of.tokens_per_s; }},
    {"peak_share", [](Found of) { return db::optional_cell(of.peak_share); }},
    {"layout", [](Found of) -> db::Cell { return of.layout; }},
    {"micro_batches", [](Found of) -> db::Cell { return std::int64_t{of.micro_batches}; }},
    {"order", [](Found of) -> db::Cell { return of.micro_batch_order; }},
    {"planner", [](Found of) -> db::Cell { return of.planner; }},
    {"shard_optimizer",
     [](Found of) -> db::Cell { return of.shard_optimizer != 0 ? "yes" : "no"; }},
    {"restored_blocks", [](Found of) -> db::Cell { return std::int64_t{of.restored_blocks}; }},
    {"whole_blocks", [](Found of) -> db::Cell { return std::int64_t{of.whole_blocks}; }},
    {"parameter_bytes", [](Found of) -> db::Cell { return of.parameter_bytes; }},
    {"gradient_bytes", [](Found of) -> db::Cell { return of.gradient_bytes; }},
    {"optimizer_bytes", [](Found of) -> db::Cell { return of.optimizer_bytes; }},
    {"activation_bytes", [](Found of) -> db::Cell { return of.activation_bytes; }},
    {"buffer_bytes", [](Found of) -> db::Cell { return of.buffer_bytes; }},
    {"predicted_peak_bytes", [](Found of) -> db::Cell { return of.predicted_peak_bytes; }},
    {"lower_bound_s", [](Found of) -> db::Cell { return of.lower_bound_s; }},
    {"bounded_by", [](Found of) -> db::Cell { return of.bounded_by; }}};

/// FLOP/s of a rank: the fastest rate that the fit of products of this type ever gives.
double peak_flops_per_s(const CostModel& costs, moe::DType dtype) {
  const auto fit = costs.fits.find(gemm_fit(moe::name_of(dtype)));
  if (fit == costs.fits.end()) return 0;
  double most = 0;
  for (double flops = 1e6; flops < 1e15; flops *= 2) {
    most = std::max(most, flops / seconds_of(fit->second, 1, flops));
  }
  return most;
}

/// Keys that are part of a setup.
constexpr const char* kMicroBatches = "training.micro_batches";
constexpr const char* kBatchPer = "training.batch_per";

std::vector<int> asked_ranks(const Arguments& arguments, const Cluster& cluster) {
  if (arguments.ranks.empty()) return {cluster.nodes * cluster.ranks_per_node};
  std::vector<int> ranks;
  for (const std::string_view part : moe::split(arguments.ranks, ',')) {
    int number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || end != part.data() + part.size() || number < 1 ||
        number > kMostPredictedRanks) {
      throw moe::InputError(fmt::format("--ranks {}: \"{}\": expected a number from 1 to {}",
                                        arguments.ranks, part, kMostPredictedRanks));
    }
    if (std::ranges::find(ranks, number) != ranks.end()) {
      throw moe::InputError(
          fmt::format("--ranks {}: {} stands there twice", arguments.ranks, number));
    }
    ranks.push_back(number);
  }
  return ranks;
}

std::string in_words(const Reasons& reasons) {
  std::vector<std::pair<std::string, int>> ordered(reasons.begin(), reasons.end());
  std::ranges::stable_sort(ordered, std::ranges::greater{}, &std::pair<std::string, int>::second);
  std::vector<std::string> texts;
  for (const auto& [reason, count] : ordered) texts.push_back(fmt::format("{} {}", count, reason));
  return fmt::format("{}", fmt::join(texts, "; "));
}

void say(const SearchResult& result, int ranks, bool knows_memory,
         const std::vector<PlannerRequest>& planners) {
  spdlog::info(
      "search: {} ranks: the model takes {} layouts, {} setups with their micro-batches, {} "
      "candidates with their orders and with and without shard_optimizer; {} were simulated",
      ranks, result.layouts, result.setups, result.candidates, result.simulated);
  if (!result.pruned.empty()) {
    spdlog::info("search: candidates left out: {}", in_words(result.pruned));
  }
  if (!result.refused.empty()) {
    spdlog::info("search: layouts refused: {}", in_words(result.refused));
  }
  const auto left = std::ranges::count(result.found, false, &FoundSetup::was_planned);
  if (left > 0 && !planners.empty()) {
    spdlog::info(
        "search: planners were not asked about {} of {} setups: computation alone takes longer "
        "than the best, or the Program is too large",
        left, result.found.size());
  }
  const bool any_plan = std::ranges::any_of(result.found, [&](const FoundSetup& one) {
    return std::ranges::any_of(planners, [&](const PlannerRequest& request) {
      return request.planner->name == one.schedule.planner;
    });
  });
  if (!any_plan && !planners.empty() && left < std::ssize(result.found)) {
    std::vector<std::string_view> names;
    for (const PlannerRequest& request : planners) names.push_back(request.planner->name);
    spdlog::info("search: no plan of {} is faster than the order of micro-batches alone",
                 fmt::join(names, ", "));
  }
  const auto by_fewer = std::ranges::count_if(result.found, [](const FoundSetup& one) {
    return one.simulated_micro_batches < one.setup.micro_batches;
  });
  if (by_fewer > 0) {
    spdlog::info(
        "search: of {} of {} setups the Program is too large to simulate: times are those of fewer "
        "micro-batches, and for each further one as long as the last ones took",
        by_fewer, result.found.size());
  }
  if (!knows_memory) {
    spdlog::info(
        "search: the cluster does not say how much memory a rank has: --memory-limit does");
  }
}

/// A search of one combination of settings.
class OneSearch {
 public:
  OneSearch(const Arguments& arguments, const std::vector<std::string>& settings)
      : settings_(settings), scenario_(arguments.scenario) {
    scenario_.settings = settings;
    model_ = load_named_model(scenario_);
    costs_ = load_named_costs(scenario_, model_);
    options_.layouts = parse_layout_range(arguments.layouts);
    options_.micro_batches = parse_micro_batches(arguments.micro_batches);
    if (!options_.micro_batches && is_set(settings, kMicroBatches)) {
      options_.micro_batches = {model_.micro_batches};
    }
    options_.orders = parse_orders(arguments.orders);
    if (arguments.search_planners != "none") {
      options_.planners = parse_planners(arguments.search_planners);
      for (PlannerRequest& request : options_.planners) {
        request.options.most_chunks = arguments.most_chunks;
      }
    }
    options_.memory_bytes = arguments.memory_bytes;
    options_.top = arguments.top;
    token_flops_ = moe::figures_of(model_).token_flops;
    peak_flops_ = peak_flops_per_s(costs_.costed.costs, model_.dtype);
  }

  const Cluster& cluster() const { return costs_.costed.cluster; }
  const moe::Model& model() const { return model_; }

  std::vector<FoundRow> rows(int ranks, std::set<std::string>& said) const {
    expect_ranks(cluster(), ranks);
    SearchResult result = search_setups(scenario_, model_, costs_, ranks, options_);
    for (const std::string& remark : result.remarks) {
      if (said.insert(remark).second) spdlog::info(remark);
    }
    const std::int64_t memory_bytes =
        options_.memory_bytes > 0 ? options_.memory_bytes : cluster().memory_bytes;
    say(result, ranks, memory_bytes > 0, options_.planners);
    std::vector<FoundRow> rows;
    for (FoundSetup& found : result.found) {
      db::PredictedSetup figures = figures_of(found);
      figures.ranks = ranks;
      figures.place = static_cast<int>(rows.size()) + 1;
      if (peak_flops_ > 0) {
        figures.peak_share = figures.tokens_per_s * token_flops_ / (peak_flops_ * ranks);
      }
      if (memory_bytes > 0) figures.memory_limit_bytes = memory_bytes;
      rows.push_back({settings_, training_options(found, ranks), std::move(found.schedule),
                      std::move(figures)});
    }
    return rows;
  }

 private:
  std::string training_options(const FoundSetup& found, int ranks) const {
    std::string text = fmt::format("--model {}", db::shell_word(scenario_.model));
    for (const std::string& setting : settings_) {
      const std::string key = moe::key_of(moe::parse_setting(setting));
      if (key.starts_with("cluster.") || key == kMicroBatches || key == kBatchPer) continue;
      text += fmt::format(" --set {}", db::shell_word(setting));
    }
    text += fmt::format(" --ranks {} {}", ranks, options_of(model_, found.setup));
    // What differs from the model as it was loaded stands there already.
    if (is_set(settings_, kMicroBatches) && found.setup.micro_batches == model_.micro_batches) {
      text += fmt::format(" --set {}={}", kMicroBatches, model_.micro_batches);
    }
    if (is_set(settings_, kBatchPer) && found.setup.batch_per == model_.batch_per) {
      text += fmt::format(" --set {}={}", kBatchPer, name_of(model_.batch_per));
    }
    return text;
  }

  std::vector<std::string> settings_;
  ScenarioOptions scenario_;
  moe::Model model_;
  MeasuredCosts costs_;
  SearchOptions options_;
  double token_flops_ = 0, peak_flops_ = 0;
};

void print(const std::vector<SweptKey>& keys, const std::vector<FoundRow>& rows, bool several_ranks,
           const Arguments& arguments) {
  std::vector<std::string> columns;
  for (const SweptKey& key : keys) columns.push_back(key.key);
  if (several_ranks) columns.insert(columns.end(), {"ranks", "scaling_share"});
  for (const FoundColumn& column : kFoundColumns) columns.emplace_back(column.name);
  const bool shows_batch =
      shows_column(arguments, std::ranges::any_of(rows, [](const FoundRow& row) {
                     return row.figures.batch_per == name_of(moe::BatchPer::tp_group);
                   }));
  if (shows_batch) columns.emplace_back("batch_per");
  db::RowWriter writer(stdout, style_of(arguments), columns);
  for (const FoundRow& row : rows) {
    std::vector<db::Cell> cells;
    for (const std::string& setting : row.settings) cells.push_back(setting_cell(setting));
    if (several_ranks) {
      const FoundRow& first = *std::ranges::find(rows, row.settings, &FoundRow::settings);
      const auto of_rank = [](Found of) { return of.tokens_per_s / of.ranks; };
      cells.insert(cells.end(), {std::int64_t{row.figures.ranks},
                                 of_rank(row.figures) / of_rank(first.figures)});
    }
    for (const FoundColumn& column : kFoundColumns) cells.push_back(column.cell(row.figures));
    if (shows_batch) cells.emplace_back(row.figures.batch_per);
    writer.row(cells);
  }
  writer.finish();
}

/// Writes the best schedule, and says how to train with it.
void give_best(const Arguments& arguments, const FoundRow& best) {
  const std::string& file = arguments.best_file;
  const bool is_named = !file.empty() && file != kStdout;
  if (!file.empty()) db::write_output(file, moe::to_json(best.schedule) + '\n');
  spdlog::info("the best: moe-train {} --schedule {}", best.options,
               is_named ? db::shell_word(file) : "FILE, as -o FILE writes it");
}

/// Where the searches are to be stored. A file that holds the costs may be one that only reads.
std::optional<db::Connection> open_store(const Arguments& arguments) {
  const std::string& database = arguments.scenario.database;
  if (database.empty()) return std::nullopt;
  try {
    return db::open_writer(database);
  } catch (const db::Error& error) {
    if (!is_measured_cluster(arguments.scenario.cluster)) throw;
    spdlog::warn("search: what is found is not stored: {}", error.what());
    return std::nullopt;
  }
}

/// What the searches of all settings and numbers of ranks found.
struct FoundRows {
  std::vector<FoundRow> all;
  std::vector<FoundRow> printed;    ///< of several searches the best row of each
  std::optional<moe::Model> model;  ///< with the first settings that it takes
  Cluster cluster;                  ///< with the same
};

/// Throws the first refusal where nothing is found, or where there is one search.
FoundRows find_rows(const Arguments& arguments,
                    const std::vector<std::vector<std::string>>& all_settings, bool several_ranks) {
  const bool several = several_ranks || all_settings.size() > 1;
  FoundRows rows;
  std::set<std::string> said;
  std::exception_ptr first_refusal;
  for (const std::vector<std::string>& settings : all_settings) {
    const auto refused = [&](const char* reason) {
      if (!first_refusal) first_refusal = std::current_exception();
      spdlog::warn(settings.empty() ? std::string(reason)
                                    : fmt::format("{}: {}", fmt::join(settings, " "), reason));
    };
    try {
      const OneSearch one(arguments, settings);
      if (!rows.model) {
        rows.model = one.model();
        rows.cluster = one.cluster();
      }
      for (const int ranks : asked_ranks(arguments, one.cluster())) {
        try {
          std::vector<FoundRow> found = one.rows(ranks, said);
          std::ranges::copy(found, std::back_inserter(rows.all));
          if (several) found.resize(1);
          std::ranges::move(found, std::back_inserter(rows.printed));
        } catch (const moe::Refusal& refusal) {
          if (!several) throw;
          refused(refusal.what());
        }
      }
    } catch (const moe::InputError& error) {
      if (all_settings.size() == 1) throw;
      refused(error.what());
    }
  }
  if (rows.printed.empty()) std::rethrow_exception(first_refusal);
  return rows;
}

}  // namespace

int search(const Arguments& arguments, int argc, char** argv) {
  const std::string& file = arguments.best_file;
  db::refuse_database_as_output(file, arguments.scenario.database);
  if (!file.empty()) db::expect_output(file);
  const std::vector<SweptKey> keys = parse_sweep(arguments.scenario.settings);
  check_routing(arguments.scenario.routing);
  std::optional<db::Connection> store = open_store(arguments);
  const bool several_ranks = arguments.ranks.find(',') != std::string::npos;
  FoundRows rows = find_rows(arguments, combinations(keys), several_ranks);
  if (file != kStdout) print(keys, rows.printed, several_ranks, arguments);
  const auto speed = [](const FoundRow& row) { return row.figures.tokens_per_s; };
  give_best(arguments, *std::ranges::max_element(rows.printed, {}, speed));
  if (store) {
    for (FoundRow& row : rows.all) {
      row.figures.settings = fmt::format("{}", fmt::join(swept_settings(keys, row.settings), " "));
    }
    const std::int64_t run = store_search(*store, rows.all, *rows.model, rows.cluster, argc, argv);
    spdlog::info("search: {} setups are stored: moe-db setups --db {} --run {}", rows.all.size(),
                 arguments.scenario.database, run);
  }
  return 0;
}

}  // namespace tuner
