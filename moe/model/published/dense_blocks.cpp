#include <nlohmann/json.hpp>

#include "moe/model/published/parts.h"
#include "moe/model/published/repeated_part.h"

namespace moe {
namespace {

void read_listed(const Config& config, const PublishedClass&, Model& model) {
  const std::int64_t every = config.integer("decoder_sparse_step", 1, 1);
  std::vector<bool> dense(static_cast<std::size_t>(model.blocks));
  for (std::size_t i = 0; i < dense.size(); ++i) {
    dense[i] = (static_cast<std::int64_t>(i) + 1) % every != 0;
  }
  if (const auto only = config.given("mlp_only_layers")) {
    for (const std::int64_t block : only->integers(0, model.blocks - 1)) {
      dense[static_cast<std::size_t>(block)] = true;
    }
  }
  parts::set_dense_blocks(model, dense);
}

void write_listed(const Model& model, const PublishedClass&, Json& config) {
  Json dense = Json::array();
  for (int block = 0; block < model.blocks; ++block) {
    if (!has_experts(model, block)) dense.push_back(block);
  }
  config["decoder_sparse_step"] = 1;
  config["mlp_only_layers"] = dense;
}

}  // namespace

void parts::set_dense_blocks(Model& model, const std::vector<bool>& dense) {
  for (model.dense_blocks = 0; model.dense_blocks < model.blocks; ++model.dense_blocks) {
    const int others = model.blocks - model.dense_blocks;
    for (model.moe_every = 1; model.moe_every <= others; ++model.moe_every) {
      bool is_alike = true;
      for (int block = 0; block < model.blocks && is_alike; ++block) {
        is_alike = has_experts(model, block) != dense[static_cast<std::size_t>(block)];
      }
      if (is_alike) return;
    }
  }
  model.dense_blocks = 0;
  model.moe_every = 1;
  std::string pattern;
  for (const bool is_dense : dense) pattern += is_dense ? 'd' : 'e';
  set_declared(model, "block_pattern", std::string_view(repeated_part(pattern)));
}

const ConfigPart parts::listed_dense_blocks{read_listed, write_listed};

}  // namespace moe
