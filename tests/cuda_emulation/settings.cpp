#include "tests/cuda_emulation/settings.h"

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "tests/cuda_emulation/stream.h"

namespace moelab::cuda_emulation {
namespace {

std::uint64_t number(const std::string& variable, const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const std::uint64_t value = std::strtoull(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno != 0 || text[0] == '-') {
    throw std::invalid_argument(variable + "=" + text + ": expected a whole number");
  }
  return value;
}

std::uint64_t read(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : number(variable, text);
}

void read_fault(Settings& result) {
  const char* text = std::getenv("MOELAB_EMULATED_FAULT");
  if (text == nullptr || *text == '\0') return;
  const std::string fault = text;
  const std::size_t colon = fault.find(':');
  const std::string kind = fault.substr(0, colon);
  std::int64_t* const which = kind == "allocation" ? &result.failing_allocation
                              : kind == "kernel"   ? &result.failing_kernel
                              : kind == "copy"     ? &result.lost_copy
                              : kind == "event"    ? &result.event_that_never_comes
                                                   : nullptr;
  if (which == nullptr || colon == std::string::npos) {
    throw std::invalid_argument("MOELAB_EMULATED_FAULT=" + fault +
                                ": expected allocation:N, kernel:N, copy:N or event:N");
  }
  *which = static_cast<std::int64_t>(number("MOELAB_EMULATED_FAULT", fault.substr(colon + 1)));
}

Settings read_settings() {
  Settings result;
  result.seed = read("MOELAB_EMULATED_SEED", result.seed);
  result.devices =
      static_cast<int>(read("MOELAB_EMULATED_DEVICES", static_cast<std::uint64_t>(result.devices)));
  if (result.devices < 0 || result.devices > 64) {
    throw std::invalid_argument("MOELAB_EMULATED_DEVICES: expected 0 to 64 devices");
  }
  result.memory_bytes = read("MOELAB_EMULATED_MEMORY", result.memory_bytes);
  result.report = read("MOELAB_EMULATED_REPORT", 0) != 0;
  result.fastest_product = read("MOELAB_EMULATED_FASTEST_PRODUCT", 0);
  read_fault(result);
  return result;
}

}  // namespace

const Settings& settings() {
  static const Settings result = read_settings();
  return result;
}

Order order() {
  switch (settings().seed) {
    case 0:
      return Order::first_to_last;
    case 1:
      return Order::last_to_first;
    default:
      return Order::drawn;
  }
}

std::uint64_t seed() { return settings().seed; }

}  // namespace moelab::cuda_emulation
