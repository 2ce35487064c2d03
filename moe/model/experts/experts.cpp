#include "moe/model/experts/experts.h"

#include <fmt/format.h>

#include <stdexcept>

#include "moe/model/experts/gpt.h"

namespace moe {

const std::vector<Expert>& experts() {
  static const std::vector<Expert> all{
      {"gpt", "up to d_hidden, GELU, down, with biases", gpt_experts},
  };
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
