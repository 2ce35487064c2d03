#include "moe/command/step_log.h"

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "db/console/output_error.h"

namespace moe {

StepLog::StepLog(const std::string& path, std::int64_t tokens)
    : path_(path), tokens_(tokens), file_(std::fopen(path.c_str(), "ae")) {
  if (file_ == nullptr) throw db::write_error(path_, errno);
}

StepLog::~StepLog() {
  if (file_ != nullptr) std::fclose(file_);
}

void StepLog::write(const StepReport& step, const std::string& schedule) {
  nlohmann::ordered_json line{{"iteration", step.iteration},
                              {"loss", step.loss},
                              {"auxiliary_loss", step.auxiliary_loss},
                              {"learning_rate", step.learning_rate},
                              {"iteration_s", step.duration_s},
                              {"tokens_per_s", static_cast<double>(tokens_) / step.duration_s},
                              {"dropped", step.dropped}};
  if (!schedule.empty()) line["schedule"] = schedule;
  if (step.z_loss != 0) line["z_loss"] = step.z_loss;
  if (step.heldout_loss) line["heldout_loss"] = *step.heldout_loss;
  if (step.outlier) line["skipped"] = step.outlier->quantity;
  if (step.gradient_norm) line["gradient_norm"] = *step.gradient_norm;
  if (!step.planned_peak_bytes.empty()) {
    line["peak_bytes"] =
        *std::max_element(step.planned_peak_bytes.begin(), step.planned_peak_bytes.end());
  }
  const std::string text = line.dump() + "\n";
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() || std::fflush(file_) != 0) {
    throw db::write_error(path_, errno);
  }
}

}  // namespace moe
