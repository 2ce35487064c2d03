#include "tuner/study/stored_bytes.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "db/load.h"
#include "tuner/study/stored_trainings.h"

namespace tuner {
namespace {

constexpr std::size_t kMostTrainings = 8;

double pragma(const db::Connection& connection, const char* name) {
  return connection.database().execAndGet(fmt::format("PRAGMA {}", name)).getDouble();
}

}  // namespace

double used_bytes(const db::Connection& connection) {
  return (pragma(connection, "page_count") - pragma(connection, "freelist_count")) *
         pragma(connection, "page_size");
}

std::optional<double> bytes_of_training(const db::Connection& copy, const db::Study& study,
                                        int steps) {
  std::vector<db::Run> runs = stored_trainings(copy, study);
  const auto is_as_long = [&](const db::Run& run) {
    return db::load_iterations(copy, run.id).size() == static_cast<std::size_t>(steps);
  };
  const auto others = std::stable_partition(runs.begin(), runs.end(), is_as_long);
  if (others != runs.begin()) runs.erase(others, runs.end());
  if (runs.empty()) return std::nullopt;
  if (runs.size() > kMostTrainings) runs.resize(kMostTrainings);
  const double before = used_bytes(copy);
  for (const db::Run& run : runs) {
    copy.database().exec(fmt::format("DELETE FROM run WHERE id = {}", run.id));
  }
  return (before - used_bytes(copy)) / static_cast<double>(runs.size());
}

}  // namespace tuner
