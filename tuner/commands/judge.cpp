#include "tuner/study/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "db/connection.h"
#include "db/console/format_rows.h"
#include "db/console/statistics.h"
#include "db/error.h"
#include "db/load.h"
#include "moe/errors.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/printing.h"

namespace tuner {
namespace {

/// A set of parts of costs, and how it is called.
struct Variant {
  std::string without;
  CostParts parts;
};

CostPart part_named(const std::string& name) {
  const auto found = std::ranges::find(kCostParts, name, &NamedCostPart::name);
  if (found != kCostParts.end()) return found->part;
  std::string names;
  for (const NamedCostPart& one : kCostParts) names += fmt::format(" {}", one.name);
  throw moe::InputError(fmt::format("--without {}: expected one of{}", name, names));
}

/// All parts, then without each of them; or without those that are asked for, together.
std::vector<Variant> variants(const std::vector<std::string>& without) {
  std::vector<Variant> result{{"", {}}};
  if (!without.empty()) {
    Variant asked{"", {}};
    for (const std::string& name : without) {
      asked.without += (asked.without.empty() ? "" : ", ") + name;
      asked.parts = asked.parts.without(part_named(name));
    }
    result.push_back(std::move(asked));
    return result;
  }
  for (const NamedCostPart& one : kCostParts) {
    result.push_back({std::string(one.name), CostParts{}.without(one.part)});
  }
  return result;
}

/// A study that can be judged, and what it is with all parts.
struct Judged {
  JudgedStudy study;
  JudgedTrials whole;

  JudgedTrials with(const CostParts& parts) const {
    return parts.left_out.none() ? whole : study.judge(parts);
  }
};

/// A database, and the studies in it that can be judged.
struct JudgedDatabase {
  db::Connection connection;
  std::vector<Judged> studies;
};

void leave_out(const JudgedDatabase& database, const db::Study& study, const std::exception& why) {
  spdlog::warn("{}: study \"{}\" is left out: {}", database.connection.path(), study.name,
               why.what());
}

void add_studies(JudgedDatabase& database) {
  for (const db::Study& study : db::load_studies(database.connection)) {
    try {
      // What its runs do not tell is found here, before anything is printed.
      JudgedStudy judged(database.connection, study);
      JudgedTrials whole = judged.judge({});
      database.studies.push_back({std::move(judged), std::move(whole)});
    } catch (const moe::InputError& error) {
      leave_out(database, study, error);
    } catch (const db::Error& error) {
      leave_out(database, study, error);
    }
  }
}

/// Over all studies, each of which counts as much.
struct Overall {
  std::vector<double> mean_error, own_error, kendall_tau, regret;
  double worst_error = 0;

  void add(const db::PredictionQuality& one, double own) {
    mean_error.push_back(one.mean_error);
    own_error.push_back(own);
    if (one.kendall_tau_told_apart) kendall_tau.push_back(*one.kendall_tau_told_apart);
    if (one.regret) regret.push_back(*one.regret);
    if (std::abs(one.worst_error) > std::abs(worst_error)) worst_error = one.worst_error;
  }
};

db::Cell mean_cell(const std::vector<double>& values) {
  return values.empty() ? db::Cell() : db::mean(values);
}

}  // namespace

int judge(const Arguments& arguments) {
  std::list<JudgedDatabase> databases;
  for (const std::string& path : arguments.judged) {
    add_studies(databases.emplace_back(JudgedDatabase{db::open_reader(path), {}}));
  }
  const std::vector<Variant> all = variants(arguments.without);
  if (std::ranges::all_of(databases, [](const auto& one) { return one.studies.empty(); })) {
    throw moe::InputError(
        fmt::format("{}: no study with two measured trials: make some with moe-tune study",
                    fmt::join(arguments.judged, ", ")));
  }
  db::RowWriter writer(stdout, style_of(arguments),
                       {"without", "study", "trials", "mean_prediction_error",
                        "worst_prediction_error", "own_prediction_error", "kendall_tau", "regret"});
  for (const Variant& variant : all) {
    Overall overall;
    std::int64_t trials = 0;
    for (const JudgedDatabase& database : databases) {
      for (const Judged& judged : database.studies) {
        const JudgedTrials one = judged.with(variant.parts);
        const db::PredictionQuality& quality = one.quality;
        const double own = own_error(one.trials);
        overall.add(quality, own);
        trials += quality.trials;
        writer.row({db::text_cell(variant.without), judged.study.name(),
                    std::int64_t{quality.trials}, quality.mean_error, quality.worst_error, own,
                    db::optional_cell(quality.kendall_tau_told_apart),
                    db::optional_cell(quality.regret)});
      }
    }
    writer.row({db::text_cell(variant.without), "all", trials, mean_cell(overall.mean_error),
                overall.worst_error, mean_cell(overall.own_error), mean_cell(overall.kendall_tau),
                mean_cell(overall.regret)});
  }
  writer.finish();
  return 0;
}

}  // namespace tuner
