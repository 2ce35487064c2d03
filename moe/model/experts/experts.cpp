#include "moe/model/experts/experts.h"

#include <fmt/format.h>

#include <stdexcept>

namespace moe {

const std::vector<Expert>& experts() {
#define MOELAB_LIST_EXPERT(name, description) {#name, description, name##_experts},
  static const std::vector<Expert> all{MOELAB_EXPERTS(MOELAB_LIST_EXPERT)};
#undef MOELAB_LIST_EXPERT
  return all;
}

const Expert& expert_named(std::string_view name) {
  std::string names;
  for (const Expert& expert : experts()) {
    if (expert.name == name) return expert;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", expert.name);
  }
  throw std::invalid_argument(fmt::format("no expert network \"{}\"; there are {}", name, names));
}

}  // namespace moe
