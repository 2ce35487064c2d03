#include "tuner/planners/lancet/layer_cuts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "moe/errors.h"
#include "moe/model/combination_refusal.h"
#include "moe/model/gates/gates.h"
#include "moe/model/iteration.h"
#include "moe/model/orders/orders.h"
#include "moe/passes/schedule.h"
#include "tests/moe/train/training_case.h"
#include "tests/tuner/planners/lancet/range_axes.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"

namespace tuner::layer_cuts_test {
namespace {

using moe::Model;
using moe::Program;
using ::testing::HasSubstr;

/// Four sequences of a rank and micro-batch, experts in both blocks.
Model model_of_two_layers() {
  Model model = moe::test::small_model(moe::DType::f32);
  model.moe_every = 1;
  model.experts = 8;
  model.global_batch = model.capacity_groups = 8;
  return model;
}

struct ModelCase {
  std::string name;
  Model model;
  moe::Layout layout{1, 2, 1};
  std::vector<int> node_of{};
  std::vector<moe::Decision> decided{};  ///< before any range is
};

Program iteration(const ModelCase& one) {
  const moe::Groups groups = moe::make_groups(one.layout, one.node_of);
  return apply(moe::build_iteration(one.model, groups, 0), moe::Schedule{"", one.decided});
}

/// Every gate, with and without a capacity, in every way to drop and in both orders.
std::vector<ModelCase> gates_and_orders() {
  std::vector<ModelCase> cases;
  for (const moe::Gate& gate : moe::gates()) {
    for (const moe::Order& order : moe::orders()) {
      for (const bool capacity : {false, true}) {
        for (const moe::Drop drop :
             {moe::Drop::choice, moe::Drop::position, moe::Drop::probability}) {
          for (const int choices : {1, 2}) {
            ModelCase one{fmt::format("{} {} {} {} {}", gate.name, order.name, capacity,
                                      moe::drop_name(drop), choices),
                          model_of_two_layers()};
            one.model.gate = gate.name;
            one.model.order = order.name;
            one.model.drop = drop;
            one.model.choices = choices;
            if (capacity) one.model.capacity_factor = 1;
            const bool ways_alike = !capacity && drop != moe::Drop::choice;
            if (!ways_alike && !moe::combination_refusal(one.model)) cases.push_back(one);
          }
        }
      }
    }
  }
  return cases;
}

/// Layouts, hooks, networks and norms.
std::vector<ModelCase> other_models() {
  std::vector<ModelCase> cases;
  const auto add = [&](std::string name, const std::function<void(ModelCase&)>& change) {
    change(cases.emplace_back(ModelCase{std::move(name), model_of_two_layers()}));
  };
  add("tensor parallel", [](ModelCase& one) { one.layout.tensor = 2; });
  add("shared experts of ranks", [](ModelCase& one) { one.layout = {1, 1, 2}; });
  add("two stages", [](ModelCase& one) {
    one.layout.pipeline = 2;
    one.model.blocks = 4;
    one.model.moe_every = 2;
  });
  add("two micro-batches", [](ModelCase& one) {
    one.model.micro_batches = 2;
    one.model.global_batch = one.model.capacity_groups = 16;
  });
  add("shared experts", [](ModelCase& one) { one.model.shared_experts = 1; });
  add("z loss", [](ModelCase& one) { one.model.z_loss_weight = 0.1; });
  add("as mixtral", [](ModelCase& one) {
    one.model.norm = moe::Norm::rms_norm;
    one.model.positions = moe::Positions::rotary;
    one.model.expert = "mixtral";
    one.model.biases = false;
  });
  add("hooks", [](ModelCase& one) {
    for (const char* place : {"before_dispatch", "after_dispatch", "before_combine",
                              "after_combine", "before_moe_end"}) {
      one.model.hooks[place] = "round_bf16";
    }
    one.model.hooks["before_moe_start"] = "jitter";
  });
  add("hooks and einsum", [](ModelCase& one) {
    one.model.order = "einsum";
    one.model.hooks["before_dispatch"] = one.model.hooks["after_combine"] = "round_bf16";
  });
  return cases;
}

/// Other ops around and in MoE layers, which decisions that come before ranges make.
std::vector<ModelCase> decided_models() {
  std::vector<ModelCase> cases;
  for (const moe::Route route : {moe::Route::one_d, moe::Route::two_d, moe::Route::pairwise}) {
    ModelCase one{std::string(moe::route_name(route)), model_of_two_layers(), {1, 4, 1}};
    one.model.global_batch = one.model.capacity_groups = 16;
    one.node_of = {0, 0, 1, 1};
    for (const moe::Phase phase : {moe::Phase::forward, moe::Phase::backward}) {
      one.decided.push_back(
          moe::Exchange{0, phase, {}, route, route == moe::Route::pairwise ? 2 : 0});
    }
    cases.push_back(one);
  }
  ModelCase compressed{"compressed", model_of_two_layers()};
  compressed.decided = {moe::CompressExchange{0, moe::Phase::forward},
                        moe::CompressExchange{1, moe::Phase::backward}};
  cases.push_back(compressed);
  ModelCase replicated{"replicated", model_of_two_layers()};
  replicated.decided = {moe::ReplicateExperts{0, {{{0, {1}}, {5, {0}}}}}};
  cases.push_back(replicated);
  return cases;
}

/// The same where the gate needs the whole batch.
std::vector<ModelCase> with_whole_choices(std::vector<ModelCase> cases) {
  for (ModelCase& one : cases) {
    one.name += ", batch prioritized";
    one.model.gate = "batch_prioritized";
    one.model.capacity_factor = 1;
  }
  return cases;
}

/// The models of experiments/models, with fewer blocks.
std::vector<ModelCase> published_models() {
  std::vector<ModelCase> cases;
  for (const char* name : {"gpt2-s-moe", "mixtral-7b", "deepseek-v3", "tiny"}) {
    const auto path = moe::find_input(name, std::string(MOELAB_SOURCE_DIR) + "/experiments/models");
    ModelCase one{name, moe::load_model(path), {1, 4, 1}};
    one.model.blocks = one.model.dense_blocks + 4;
    one.model.vocabulary = 64;
    one.model.global_batch = std::max<std::int64_t>(one.model.global_batch, 16);
    cases.push_back(one);
  }
  return cases;
}

template <class Decision>
bool accepted(const Program& program, const Decision& decision) {
  try {
    apply(program, decision);
    return true;
  } catch (const moe::Refusal&) {
    return false;
  }
}

/// Ranges around a MoE layer, by the numbers of ops before and after it: to one side, and to both.
std::vector<std::pair<std::size_t, std::size_t>> ranges_around(const OpRange& layer,
                                                               std::size_t forward) {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  const std::size_t before = layer.first, after = forward - layer.end;
  for (std::size_t n = 0; n <= before; ++n) ranges.emplace_back(n, 0);
  for (std::size_t n = 1; n <= after; ++n) ranges.emplace_back(0, n);
  for (std::size_t n = 1; n <= std::min(before, after); ++n) ranges.emplace_back(n, n);
  return ranges;
}

struct Compared {
  int legal = 0, illegal = 0;
};

void compare_with_partition_range(const ModelCase& one, Compared& compared) {
  SCOPED_TRACE(one.name);
  const Program program = iteration(one);
  RangeAxes axes(program);
  const std::map<int, LayerCuts> cuts = layer_cuts(program, 8);
  const std::size_t forward = moe::forward_ops(program, 0).size();
  for (const int layer : moe_layers(program)) {
    const OpRange inner = axes.moe_ops(layer).layer;
    for (const int parts : {2, 3, 4}) {
      for (const auto& [before, after] : ranges_around(inner, forward)) {
        const RangeQuestion question{layer, {inner.first - before, inner.end + after}, parts};
        const moe::PartitionRange range{layer, parts, static_cast<int>(before),
                                        static_cast<int>(after)};
        const bool legal = axes.legal(question);
        const bool taken = accepted(program, range);
        const LayerCuts& one_layer = cuts.at(layer);
        EXPECT_EQ(legal, taken) << parts << " parts of layer " << layer << ", " << before
                                << " before and " << after << " after";
        const bool cut = one_layer.far && std::ranges::count(one_layer.parts, parts) > 0 &&
                         one_layer.far->first <= question.ops.first &&
                         question.ops.end <= one_layer.far->end;
        EXPECT_EQ(cut, taken) << parts << " parts of layer " << layer << ", " << before
                              << " before and " << after << " after: " << one_layer.obstacle;
        ++(legal ? compared.legal : compared.illegal);
        // Three parts of four sequences are refused alike, however far they reach.
        if (parts == 3 && !legal) break;
      }
    }
  }
}

TEST(RangeAxes, AllowForEveryGateAndOrderWhatPartitionRangeAccepts) {
  Compared compared;
  for (const ModelCase& one : gates_and_orders()) compare_with_partition_range(one, compared);
  EXPECT_GT(compared.legal, 1000);
  EXPECT_GT(compared.illegal, 1000);
}

TEST(RangeAxes, AllowForOtherLayersAndLayoutsWhatPartitionRangeAccepts) {
  Compared compared;
  for (const auto& cases : {other_models(), decided_models(), with_whole_choices(other_models()),
                            with_whole_choices(decided_models())}) {
    for (const ModelCase& one : cases) compare_with_partition_range(one, compared);
  }
  EXPECT_GT(compared.legal, 100);
  EXPECT_GT(compared.illegal, 100);
}

TEST(RangeAxes, AllowForPublishedModelsWhatPartitionRangeAccepts) {
  Compared compared;
  for (const ModelCase& one : published_models()) compare_with_partition_range(one, compared);
  EXPECT_GT(compared.legal, 50);
  EXPECT_GT(compared.illegal, 50);
}

TEST(RangeAxes, AllowAlongCapacityWhatPipelineSplitAccepts) {
  int legal = 0, illegal = 0;
  for (const auto& cases :
       {gates_and_orders(), other_models(), decided_models(), published_models()}) {
    for (const ModelCase& one : cases) {
      const Program program = iteration(one);
      RangeAxes axes(program);
      const std::map<int, LayerCuts> cuts = layer_cuts(program, 8);
      for (const int layer : moe_layers(program)) {
        const OpRange routed = axes.moe_ops(layer).routed;
        const LayerCuts& one_layer = cuts.at(layer);
        EXPECT_EQ(one_layer.ops, axes.moe_ops(layer).layer);
        const bool over_the_gate = one_layer.far && one_layer.far->first < one_layer.ops.first;
        for (const int chunks : {2, 5, 8, 1000}) {
          const bool allowed = axes.legal({layer, routed, chunks, kCapacityAxes});
          const moe::PipelineSplit split{layer, moe::Phase::forward, chunks};
          EXPECT_EQ(allowed, accepted(program, split))
              << one.name << ": " << chunks << " chunks of layer " << layer;
          if (!over_the_gate && chunks <= 8) {
            EXPECT_EQ(allowed, std::ranges::count(one_layer.chunks, chunks) > 0) << one.name;
          }
          ++(allowed ? legal : illegal);
        }
      }
    }
  }
  EXPECT_GT(legal, 100);
  EXPECT_GT(illegal, 50);
}

std::size_t place_of(const Program& program, int layer, std::string_view name) {
  const auto forward = moe::forward_ops(program, 0);
  const auto place = std::find_if(forward.begin(), forward.end(), [&](std::size_t i) {
    return program.ops[i].layer == layer && program.ops[i].name == name;
  });
  if (place == forward.end()) throw std::logic_error("no such op");
  return static_cast<std::size_t>(place - forward.begin());
}

TEST(RangeAxes, SayWhatEveryTensorIsPartitionedAlong) {
  const Program program = iteration({"", model_of_two_layers()});
  RangeAxes axes(program);
  const OpRange inner = axes.moe_ops(1).layer;
  const auto found = axes.axes({1, {inner.first - 2, inner.end + 1}, 2});
  ASSERT_TRUE(found);
  const auto axis_of = [&](std::string_view name) {
    for (const auto& [tensor, axis] : *found) {
      if (program.tensors[static_cast<std::size_t>(tensor)].name == name) return axis;
    }
    throw std::logic_error("no such tensor");
  };
  for (const char* name : {"block1.expert", "block1.gate_weight", "block1.slot", "block1.norm2",
                           "block1.combined", "block1.output"}) {
    EXPECT_EQ(axis_of(name), Axis::batch) << name;
  }
  for (const char* name : {"block1.offsets", "block1.total_demand", "block1.sent",
                           "block1.received", "block1.returned", "block1.d_sent"}) {
    EXPECT_EQ(axis_of(name), Axis::irregular) << name;
  }
  for (const moe::Parameter& parameter : program.parameters) {
    for (const moe::TensorId id : {parameter.value, parameter.gradient}) {
      EXPECT_TRUE(!found->contains(id) || found->at(id) == Axis::none);
    }
  }
  EXPECT_EQ(axis_of("block1.auxiliary_loss"), Axis::later) << "of all tokens";
}

TEST(RangeAxes, OfAGateThatNeedsTheWholeBatchReachFromAfterItAlongTheBatchOrAlongCapacity) {
  Model model = model_of_two_layers();
  model.gate = "batch_prioritized";
  model.capacity_factor = 1;
  const Program program = iteration({"", model});
  RangeAxes axes(program);
  const auto [layer, routed] = axes.moe_ops(0);
  EXPECT_EQ(layer.first, place_of(program, 0, "gate"));
  EXPECT_EQ(routed.first, place_of(program, 0, "permute"));
  EXPECT_EQ(routed.end, place_of(program, 0, "all_to_all combine") + 1);
  EXPECT_EQ(layer.end, place_of(program, 0, "combine") + 1);

  // The gate chooses for all tokens, and its choice is divided among the parts, also for the dense
  // ops after the layer.
  const auto found = axes.axes({0, layer, 2});
  ASSERT_TRUE(found);
  const auto axis_of = [&](std::string_view name) {
    const auto named = std::find_if(found->begin(), found->end(), [&](const auto& one) {
      return program.tensors[static_cast<std::size_t>(one.first)].name == name;
    });
    return named->second;
  };
  EXPECT_EQ(axis_of("block0.gate_probabilities"), Axis::none);
  for (const char* name : {"block0.expert", "block0.slot", "block0.combined"}) {
    EXPECT_EQ(axis_of(name), Axis::batch) << name;
  }
  for (const char* name : {"block0.offsets", "block0.sent", "block0.received"}) {
    EXPECT_EQ(axis_of(name), Axis::irregular) << name;
  }
  const LayerCuts cuts = layer_cuts(program, 8).at(0);
  EXPECT_EQ(cuts.far, (OpRange{layer.first, place_of(program, 1, "gate")}));
  EXPECT_THAT(cuts.obstacle,
              HasSubstr("not over the gate: gate \"batch_prioritized\" with choices = 2 and drop = "
                        "\"probability\" needs the whole batch"));
  // Without the gate nobody deals out: no part has counts of its own.
  EXPECT_FALSE(axes.legal({0, {routed.first, layer.end}, 2}));
  // The exchanges and experts can be cut along capacity, and what puts tokens together waits for
  // all of that.
  EXPECT_TRUE(axes.legal({0, routed, 2, kCapacityAxes}));
  EXPECT_FALSE(axes.legal({0, {routed.first, layer.end}, 2, kCapacityAxes}));
  // Up to the gate, and after the layer, all dense ops can be cut along the batch.
  EXPECT_TRUE(axes.legal({0, {layer.first - 3, layer.first}, 2}));
  EXPECT_TRUE(axes.legal({0, {layer.end, place_of(program, 1, "gate")}, 2}));
  EXPECT_FALSE(axes.legal({0, {layer.first - 3, layer.first + 1}, 2}));
}

TEST(LayerCuts, NameTheOpInTheWay) {
  const auto obstacle = [](const Model& model) {
    return layer_cuts(iteration({"", model}), 8).at(0).obstacle;
  };
  Model model = model_of_two_layers();
  model.order = "einsum";
  EXPECT_THAT(obstacle(model), HasSubstr("not along the batch: \"dispatch mask\" cannot be cut"));
  model.gate = "soft_moe";
  model.capacity_factor = 1;
  EXPECT_THAT(obstacle(model), HasSubstr("not along the batch: its gate looks at whole"));
  EXPECT_EQ(obstacle(model_of_two_layers()), "");
  EXPECT_THROW(RangeAxes(iteration({"", model_of_two_layers()})).moe_ops(7), std::invalid_argument);
}

TEST(RangeAxes, AreSolvedOnceForLayersOfOneKind) {
  const auto problems = [](int blocks) {
    Model model = model_of_two_layers();
    model.blocks = blocks;
    const Program program = iteration({"", model});
    RangeAxes axes(program);
    for (int layer = 0; layer < blocks; ++layer) {
      const OpRange inner = axes.moe_ops(layer).layer;
      EXPECT_TRUE(axes.legal({layer, inner, 2}));
      EXPECT_TRUE(axes.legal({layer, {inner.first - 5, inner.end}, 2}));
    }
    return axes.problems_solved();
  };
  EXPECT_EQ(problems(2), 2);
  EXPECT_EQ(problems(12), 2);
}

TEST(RangeAxes, CountASearchThatIsGivenUpAsNoCut) {
  const Program program = iteration({"", model_of_two_layers()});
  RangeAxes many(program);
  std::size_t given_up = 0;
  for (std::size_t place = 0; place < moe::forward_ops(program, 0).size(); ++place) {
    // Some can be cut along the batch or columns: propagation alone does not say which.
    const RangeQuestion question{0, {place, place + 1}, 2, kAllAxes};
    RangeAxes few(program, 0);
    const bool legal = few.legal(question);
    if (few.problems_given_up() == 0) {
      EXPECT_EQ(legal, many.legal(question)) << place;
      continue;
    }
    ++given_up;
    EXPECT_FALSE(legal) << place;
  }
  EXPECT_GT(given_up, 0);
  EXPECT_EQ(many.problems_given_up(), 0);
}

}  // namespace
}  // namespace tuner::layer_cuts_test
