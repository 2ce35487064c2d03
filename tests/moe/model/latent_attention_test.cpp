#include "moe/model/layers/latent_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "moe/model/iteration.h"
#include "moe/model/model_json.h"
#include "moe/source_tree.h"

namespace moe::latent_attention_test {
namespace {

/// What make_golden.py has written: the model, and the columns of a token that transformers' layer of
/// the same sizes makes, by the names it has there.
nlohmann::json golden() {
  return nlohmann::json::parse(std::ifstream(source_tree() / "tests" / "golden" / "latent.json"));
}

Program iteration(const nlohmann::json& header, const Layout& layout) {
  return build_iteration(model_from_json(header["model"].dump()), make_groups(layout), 0);
}

const Tensor& of_block(const Program& program, const std::string& name) {
  const std::string whole = "block0.attention." + name;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.name == whole) return tensor;
  }
  throw std::out_of_range(whole);
}

TEST(LatentAttention, MakesTheColumnsThatTransformersMakes) {
  const nlohmann::json header = golden();
  const nlohmann::json& theirs = header["their_columns"];
  const Program program = iteration(header, {1, 1, 1, 1});
  const auto ours = [&](const std::string& name) { return of_block(program, name).columns; };
  const auto columns = [&](const char* name) { return theirs[name].get<std::int64_t>(); };
  EXPECT_EQ(ours("query_down"), columns("q_a_proj"));
  EXPECT_EQ(ours("query_down_norm"), columns("q_a_layernorm"));
  EXPECT_EQ(ours("query_up"), columns("q_b_proj"));
  EXPECT_EQ(ours("latent_down") + ours("shared_key"), columns("kv_a_proj_with_mqa"));
  EXPECT_EQ(ours("latent_down_norm"), columns("kv_a_layernorm"));
  EXPECT_EQ(ours("latent_up"), columns("kv_b_proj"));
  EXPECT_EQ(ours("qkv"), columns("query") + columns("key") + columns("value"));
  EXPECT_EQ(ours("output"), columns("o_proj"));
}

/// Backward reads what a product or a norm has read, and what attention has. What heads are joined
/// from is not kept: a plan of memory has its room for others.
TEST(LatentAttention, KeepsTheLatentsAndWhatAttentionReads) {
  const Program program = iteration(golden(), {1, 1, 1, 1});
  std::set<std::string> made, kept;
  for (const Op& op : program.ops) {
    if (op.layer != 0) continue;
    for (const Use& use : op.phase == Phase::forward ? op.writes : op.reads) {
      const Tensor& tensor = program.tensors[static_cast<std::size_t>(use.tensor)];
      if (!tensor.name.starts_with("block0.attention.")) continue;
      (op.phase == Phase::forward ? made : kept).insert(tensor.name.substr(17));
    }
  }
  std::set<std::string> both;
  std::set_intersection(made.begin(), made.end(), kept.begin(), kept.end(),
                        std::inserter(both, both.begin()));
  EXPECT_THAT(both, ::testing::UnorderedElementsAre(
                        "query_down", "query_down_norm", "query_down_norm.statistics",
                        "latent_down", "latent_down_norm", "latent_down_norm.statistics", "qkv"));
  EXPECT_THAT(made, ::testing::IsSupersetOf({"query_up", "latent_up", "shared_key"}));
}

/// Ranks of tp have heads of the up-projections; latents, norms and the shared key are whole and of
/// their own tokens, and what is sent is as wide as these.
TEST(LatentAttention, IsCutByHeadsAndSendsLatents) {
  const nlohmann::json header = golden();
  const Program whole = iteration(header, {1, 1, 1, 1}), cut = iteration(header, {1, 2, 1, 2});
  for (const char* name : {"query_up", "latent_up", "qkv"}) {
    EXPECT_EQ(of_block(cut, name).columns * 2, of_block(whole, name).columns) << name;
    EXPECT_EQ(of_block(cut, name).rows, of_block(whole, name).rows) << name;
  }
  for (const char* name : {"query_down", "latent_down", "latent_down_norm", "shared_key"}) {
    EXPECT_EQ(of_block(cut, name).columns, of_block(whole, name).columns) << name;
    EXPECT_EQ(of_block(cut, name).rows * 2, of_block(whole, name).rows) << name;
  }
  std::multiset<std::int64_t> gathered;
  for (const Op& op : cut.ops) {
    if (op.layer != 0 || op.phase != Phase::forward) continue;
    if (!std::holds_alternative<AllGather>(op.kind)) continue;
    gathered.insert(cut.tensors[static_cast<std::size_t>(op.reads[0].tensor)].columns);
  }
  // Of attention those of queries, keys and the shared key; of the dense network its input.
  EXPECT_THAT(gathered, ::testing::UnorderedElementsAre(5, 6, 4, 16));
}

}  // namespace
}  // namespace moe::latent_attention_test
