#include "tuner/study/stored_trainings.h"

#include "db/load.h"

namespace tuner {

std::vector<db::Run> stored_trainings(const db::Connection& connection, const db::Study& study) {
  constexpr std::size_t kMost = 64;
  std::vector<db::Run> runs = db::load_runs(connection, {.kind = "train", .status = "done"});
  std::erase_if(runs, [&](const db::Run& run) {
    return run.ranks != study.ranks || run.model_json != study.model_json || !run.finished_at;
  });
  if (runs.size() > kMost) runs.resize(kMost);
  return runs;
}

}  // namespace tuner
