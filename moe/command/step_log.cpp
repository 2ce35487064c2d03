#include "moe/command/step_log.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "db/console/output_error.h"
#include "db/console/output_file.h"

namespace moe {
namespace {

/// True where a file ends within a line, as one does whose disk was full.
bool ends_within_a_line(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return false;
  std::ifstream file(path, std::ios::binary);
  file.seekg(-1, std::ios::end);
  const int last = file.get();
  return file && last != '\n';
}

}  // namespace

StepLog::StepLog(const std::string& path, const StepScale& scale)
    : path_(path), scale_(scale), file_(std::fopen(path.c_str(), "ae")) {
  if (file_ == nullptr) throw db::open_error(path_, errno);
  if (ends_within_a_line(path_)) std::fputc('\n', file_);  // the next iteration has its own line
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
                              {"tokens_per_s", tokens_per_s(scale_, step)},
                              {"flops", step.flops},
                              {"flops_per_s", flops_per_s(step)},
                              {"dropped", step.dropped},
                              {"peak_bytes", peak_bytes(step)}};
  if (const auto share = peak_share(scale_, step)) line["peak_share"] = *share;
  if (step.exposed) {
    line["exposed_s"] = step.exposed->all_s;
    line["exposed_waiting_s"] = step.exposed->waiting_s;
    line["exposed_bubble_s"] = step.exposed->bubble_s;
  }
  if (step.max_over_mean) line["max_over_mean"] = *step.max_over_mean;
  if (!schedule.empty()) line["schedule"] = schedule;
  if (step.z_loss != 0) line["z_loss"] = step.z_loss;
  if (step.heldout_loss) line["heldout_loss"] = *step.heldout_loss;
  if (step.outlier) line["skipped"] = step.outlier->quantity;
  if (step.gradient_norm) line["gradient_norm"] = *step.gradient_norm;
  const std::string text = line.dump() + "\n";
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() || std::fflush(file_) != 0) {
    throw db::write_error(path_, errno);
  }
}

}  // namespace moe
