#include "db/machine_class.h"

#include <fmt/core.h>

#include <cmath>

#include "db/console/shown_text.h"

namespace db {

std::string machine_class(const Machine& machine) {
  const double gibibytes = std::round(static_cast<double>(machine.memory_bytes) / 0x1p30);
  std::string text =
      fmt::format("{} of {}, {:.0f} GiB", counted(machine.cores, "core"), machine.cpu, gibibytes);
  if (!machine.gpu.empty()) text += fmt::format(", {} x {}", machine.gpu_count, machine.gpu);
  return text;
}

}  // namespace db
