#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "moe/model/published/parts.h"
#include "moe/model/published/repeated_part.h"

namespace moe {
namespace {

void read_listed(const Config& config, const PublishedClass& of, Model& model) {
  const std::int64_t every = config.integer("decoder_sparse_step", 1, 1);
  std::vector<bool> dense(static_cast<std::size_t>(model.blocks));
  for (std::size_t i = 0; i < dense.size(); ++i) {
    dense[i] = (static_cast<std::int64_t>(i) + 1) % every != 0;
  }
  if (const auto only = config.given("mlp_only_layers")) {
    for (const std::int64_t block : only->integers(0, model.blocks - 1)) {
      dense[static_cast<std::size_t>(block)] = true;
    }
  } else {
    std::fill_n(dense.begin(), std::min<std::int64_t>(model.blocks, of.dense_blocks), true);
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

constexpr const char* kKinds = "mlp_layer_types";
constexpr std::string_view kDense = "dense", kSparse = "sparse";

/// A file without the list has the class's first blocks dense: PublishedClass::dense_blocks.
void read_kinds(const Config& config, const PublishedClass& of, Model& model) {
  std::vector<bool> dense;
  if (const auto kinds = config.given(kKinds)) {
    for (const InputValue& kind : kinds->list("a list of texts")) {
      dense.push_back(kind.one_of({kDense, kSparse}) == 0);
    }
    if (dense.size() != static_cast<std::size_t>(model.blocks)) {
      kinds->refuse(fmt::format("lists {} layers: expected num_hidden_layers = {}", dense.size(),
                                model.blocks));
    }
  } else {
    for (int block = 0; block < model.blocks; ++block) dense.push_back(block < of.dense_blocks);
  }
  parts::set_dense_blocks(model, dense);
}

void write_kinds(const Model& model, const PublishedClass&, Json& config) {
  Json kinds = Json::array();
  for (int block = 0; block < model.blocks; ++block) {
    kinds.push_back(has_experts(model, block) ? kSparse : kDense);
  }
  config[kKinds] = kinds;
}

}  // namespace

const ConfigPart parts::kinds_of_blocks{read_kinds, write_kinds};

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
