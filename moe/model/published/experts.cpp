#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "moe/model/published/parts.h"

namespace moe {
namespace {

constexpr const char* kSharedWidth = "shared_expert_intermediate_size";
constexpr std::int64_t kSharedWidthOfQwen2 = 5632;

void read_gated_shared_width(const Config& config, const PublishedClass&, Model& model) {
  parts::read_shared_width(config, kSharedWidth, kSharedWidthOfQwen2, "moe_intermediate_size",
                           model);
  model.shared_expert_gate = model.shared_experts > 0;
}

void write_gated_shared_width(const Model& model, const PublishedClass&, Json& config) {
  config[kSharedWidth] = model.shared_experts * expert_hidden(model);
}

void read_best_of_groups(const Config& config, const PublishedClass&, Model& model) {
  constexpr int kBest = 2;
  const int of_group = model.experts / model.expert_groups;
  if (of_group >= kBest && model.experts % model.expert_groups == 0) return;
  config.root().refuse("n_group",
                       fmt::format("{} groups of {} experts: the router looks for the {} best "
                                   "experts of each group",
                                   model.expert_groups, model.experts, kBest));
}

}  // namespace

void parts::read_shared_width(const Config& config, std::string_view key, std::int64_t fallback,
                              std::string_view of_expert, Model& model) {
  const std::int64_t shared = config.integer(key, fallback), width = expert_hidden(model);
  if (shared % width != 0) {
    config.root().refuse(
        key, fmt::format("expected a multiple of {} = {}, got {}", of_expert, width, shared));
  }
  model.shared_experts = static_cast<int>(shared / width);
}

void parts::write_nothing(const Model&, const PublishedClass&, Json&) {}

const ConfigPart parts::gated_shared_width{read_gated_shared_width, write_gated_shared_width};
const ConfigPart parts::best_of_groups{read_best_of_groups, parts::write_nothing};

}  // namespace moe
