#include "moe/command/step_figures.h"

#include <algorithm>

#include "db/connection.h"
#include "db/load.h"
#include "moe/run/machine.h"

namespace moe {

double tokens_per_s(const StepScale& scale, const StepReport& step) {
  return static_cast<double>(scale.tokens) / step.duration_s;
}

double flops_per_s(const StepReport& step) { return step.flops / step.duration_s; }

std::optional<double> peak_share(const StepScale& scale, const StepReport& step) {
  if (!scale.peak_flops_per_s) return std::nullopt;
  return flops_per_s(step) / *scale.peak_flops_per_s;
}

std::int64_t peak_bytes(const StepReport& step) {
  const auto most = std::ranges::max_element(step.planned_peak_bytes);
  return most == step.planned_peak_bytes.end() ? 0 : *most;
}

std::optional<double> measured_peak(const std::string& database, const Model& model,
                                    const std::string& device, std::optional<int> threads,
                                    int ranks) {
  if (database.empty()) return std::nullopt;
  // As a writer, since the file may not be there yet, or lack what a new version has.
  const auto peak = db::load_peak_flops_per_s(db::open_writer(database), this_machine(), device,
                                              std::string(name_of(model.dtype)), threads);
  return peak ? std::optional(*peak * ranks) : std::nullopt;
}

}  // namespace moe
