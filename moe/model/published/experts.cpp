#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "moe/model/published/parts.h"

namespace moe {
namespace {

constexpr const char* kSharedWidth = "shared_expert_intermediate_size";
constexpr std::int64_t kSharedWidthOfQwen2 = 5632;

void read_gated_shared_width(const Config& config, const PublishedClass&, Model& model) {
  const std::int64_t shared = config.integer(kSharedWidth, kSharedWidthOfQwen2),
                     width = expert_hidden(model);
  if (shared % width != 0) {
    config.root().refuse(
        kSharedWidth,
        fmt::format("expected a multiple of moe_intermediate_size = {}, got {}", width, shared));
  }
  model.shared_experts = static_cast<int>(shared / width);
  model.shared_expert_gate = shared > 0;
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

void parts::write_nothing(const Model&, const PublishedClass&, Json&) {}

const ConfigPart parts::gated_shared_width{read_gated_shared_width, write_gated_shared_width};
const ConfigPart parts::best_of_groups{read_best_of_groups, parts::write_nothing};

}  // namespace moe
