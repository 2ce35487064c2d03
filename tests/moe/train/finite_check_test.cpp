#include "moe/train/finite_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <mutex>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/train/initialize.h"
#include "tests/moe/train/training_case.h"

namespace moe::finite_check_test {
namespace {

using test::chunked;
using test::small_model;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

/// Changes one parameter of one rank.
using Spoil = std::function<void(Runner&, int rank)>;

void fill(Runner& runner, const std::string& name, float value) {
  const Program& program = runner.program();
  for (const Parameter& parameter : program.parameters) {
    const Tensor& tensor = program.tensors[parameter.value];
    if (tensor.name != name) continue;
    std::vector<float> values(static_cast<std::size_t>(tensor.rows * tensor.columns), value);
    runner.write(parameter.value, std::as_bytes(std::span(values)));
    return;
  }
  FAIL() << "no parameter " << name;
}

/// The parameter at the same place of every such model that feeds layer 1's first expert product.
std::string expert_weight(const Program& program) {
  for (const Op& op : program.ops) {
    if (std::holds_alternative<ExpertLinear>(op.kind)) {
      return program.tensors[op.reads[1].tensor].name;
    }
  }
  return "";
}

/// The error of every rank.
std::vector<std::string> search(int ranks, const Schedule& schedule, const Spoil& spoil) {
  const Model model = small_model(DType::f32);
  const Groups groups = make_groups(ranks, ranks);
  std::vector<std::string> said(static_cast<std::size_t>(ranks));
  run_local_ranks(ranks, [&](Communicator& world) {
    const std::unique_ptr<Backend> backend = make_cpu_backend(1);
    RunOptions options;
    options.memory_limit_bytes = 1 << 28;
    Runner runner(apply(build_iteration(model, groups, world.rank), schedule), groups, *backend,
                  world, options);
    initialize_parameters(runner, 1);
    spoil(runner, world.rank);
    try {
      throw_not_finite(runner, *backend, world, "iteration 7: the loss is nan");
    } catch (const NotFinite& error) {
      said[static_cast<std::size_t>(world.rank)] = error.what();
    }
  });
  return said;
}

const Schedule kSequential{"sequential", {}};

TEST(FiniteCheck, FindsNothingWhereAllIsWell) {
  const Model model = small_model(DType::f32);
  for (const int ranks : {1, 2, 4}) {
    EXPECT_THAT(search(ranks, chunked(model, 3, 2), [](Runner&, int) {}),
                Each(HasSubstr("every op of the forward pass wrote finite values")));
  }
}

TEST(FiniteCheck, NamesTheParameterThatWasNotFiniteBefore) {
  EXPECT_THAT(
      search(1, kSequential,
             [](Runner& runner, int) {
               fill(runner, expert_weight(runner.program()),
                    std::numeric_limits<float>::quiet_NaN());
             }),
      Each(AllOf(HasSubstr("iteration 7: the loss is nan; it began before, rank 0 in layer 1"),
                 HasSubstr("was not finite already"))));
}

TEST(FiniteCheck, NamesOpAndTensorWhereAnOverflowBegins) {
  for (const Schedule& schedule : {kSequential, chunked(small_model(DType::f32), 3, 2)}) {
    EXPECT_THAT(search(1, schedule,
                       [](Runner& runner, int) {
                         fill(runner, expert_weight(runner.program()),
                              std::numeric_limits<float>::max());
                       }),
                Each(AllOf(HasSubstr("it began on rank 0 in layer 1"), HasSubstr("expert"),
                           HasSubstr("wrote \""), HasSubstr("at row 0"))));
  }
}

TEST(FiniteCheck, AllRanksSayTheSameAndNameTheRankWhereItBegan) {
  const auto said = search(4, kSequential, [](Runner& runner, int rank) {
    if (rank == 2) {
      fill(runner, expert_weight(runner.program()), std::numeric_limits<float>::infinity());
    }
  });
  EXPECT_THAT(said, Each(AllOf(HasSubstr("rank 2 in layer 1"), said.front())));
}

}  // namespace
}  // namespace moe::finite_check_test
