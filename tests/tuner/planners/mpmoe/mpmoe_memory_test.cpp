// What chunks that share buffers save: by MPMoE's equations, in the sizes of tensors, and in the
// arena of a training.
#include <gtest/gtest.h>

#include <set>

#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "moe/program/row_handling.h"
#include "moe/rows/binding.h"
#include "tests/moe/train/training_case.h"
#include "tests/tuner/planners/mpmoe/mpmoe_equations.h"

namespace tuner::mpmoe::mpmoe_memory_test {
namespace {

using moe::Phase;
using moe::RestoreActivation;
using moe::RestoreDispatched;
using moe::RestoreHidden;
using moe::Tensor;

constexpr RestoreActivation kStrategies[] = {
    {0, RestoreDispatched::offload, RestoreHidden::offload},
    {0, RestoreDispatched::communicate, RestoreHidden::offload},
    {0, RestoreDispatched::offload, RestoreHidden::recompute},
    {0, RestoreDispatched::communicate, RestoreHidden::recompute}};

/// One block, whose experts are all that counts: H = 4 M, one copy of every token.
moe::Model one_layer(int experts) {
  moe::Model model;
  model.name = "one layer";
  model.vocabulary = 8;
  model.sequence_length = 8;
  model.d_model = 32;
  model.d_hidden = 128;
  model.heads = 1;
  model.blocks = model.moe_every = 1;
  model.experts = experts;
  model.choices = 1;
  model.activation = moe::Activation::relu;
  model.global_batch = 512;
  model.capacity_groups = 4;
  return model;
}

moe::Schedule in_chunks(int chunks) {
  return {"in chunks",
          {moe::PipelineSplit{0, Phase::forward, chunks},
           moe::PipelineSplit{0, Phase::backward, chunks},
           moe::StreamAssignment{"all_to_all", moe::Stream::inter_node}}};
}

/// Elements that tensors of the experts' rows have room for: tensors that forward makes (and those
/// of them that backward reads), tensors that backward brings back, and gradients.
struct Room {
  double forward = 0, kept = 0, restored = 0, gradients = 0;
};

Room room_of(const moe::Program& program, const moe::Binding& binding = {}) {
  std::set<moe::TensorId> forward, read_backward;
  for (const moe::Op& op : program.ops) {
    for (const moe::Use& use : op.writes) {
      if (op.phase == Phase::forward) forward.insert(use.tensor);
    }
    for (const moe::Use& use : op.reads) {
      if (op.phase == Phase::backward) read_backward.insert(use.tensor);
    }
  }
  Room room;
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor& tensor = program.tensors[t];
    const auto id = static_cast<moe::TensorId>(t);
    if (tensor.rows_are != moe::Rows::received || tensor.pool == moe::Pool::host) continue;
    const double elements = static_cast<double>(moe::allocated_bytes(tensor, binding)) / 4;
    const bool again = tensor.name.find(".restored") != std::string::npos;
    (forward.contains(id) ? room.forward : again ? room.restored : room.gradients) += elements;
    if (forward.contains(id) && read_backward.contains(id)) room.kept += elements;
  }
  return room;
}

TEST(MpmoeMemory, TensorsOfSharedBuffersAreSmallerByWhatTheEquationsSay) {
  moe::Model model = one_layer(4);
  model.capacity_factor = 1;  // every expert has room for B / 4 rows of each rank
  const moe::Groups groups = moe::make_groups(4, 4);
  const moe::Program program = moe::build_iteration(model, groups, 0);
  // The paper has one tensor of B x H in forward and in backward. Here the experts make two in
  // forward (what goes into ReLU and what comes out of it, of which one is kept) and two gradients:
  // H counts twice.
  const Sizes s{512 * 8 / 4, 32, 2 * 128, 4};
  for (const int n : {2, 4, 8}) {
    const Room whole = room_of(moe::apply(program, in_chunks(n)));
    EXPECT_EQ(whole.forward, 2 * s.B * s.M + s.B * s.H);
    for (RestoreActivation strategy : kStrategies) {
      moe::Schedule schedule = in_chunks(n);
      schedule.decisions.push_back(strategy);
      const Room shared = room_of(moe::apply(program, schedule));
      EXPECT_EQ(whole.forward - shared.forward, saved(s, n)) << to_json(schedule);
      EXPECT_EQ(whole.gradients - shared.gradients, saved(s, n)) << to_json(schedule);
      // Rows that backward fetches lie where forward's buffers were.
      EXPECT_LE(shared.restored, shared.forward) << to_json(schedule);
    }
  }
}

TEST(MpmoeMemory, TheTouchedArenaSavesWhatTheEquationsSay) {
  const moe::Model model = one_layer(2);  // dropless: every row that there is room for comes
  constexpr int kRanks = 2;
  const Sizes s{512 * 8 / kRanks, 32, 128, 2};
  for (const int n : {2, 4, 8}) {
    const moe::test::Outcome whole = moe::test::train_small(model, in_chunks(n), kRanks, 1);
    for (const RestoreActivation& strategy : kStrategies) {
      moe::Schedule schedule = in_chunks(n);
      schedule.decisions.push_back(strategy);
      const moe::test::Outcome shared = moe::test::train_small(model, schedule, kRanks, 1);
      EXPECT_EQ(shared.losses, whole.losses);
      EXPECT_EQ(shared.touched_peaks, shared.planned_peaks);
      EXPECT_EQ(shared.touched_host_peaks, shared.planned_host_peaks);
      double touched = 0, own_bound = 0;
      for (int rank = 0; rank < kRanks; ++rank) {
        touched += static_cast<double>(whole.touched_peaks[rank] - shared.touched_peaks[rank]) / 4;
        const moe::Groups groups = moe::make_groups(kRanks, kRanks);
        const moe::Program program = moe::build_iteration(model, groups, rank);
        const auto room = [&](const moe::Schedule& of) {
          const moe::Program scheduled = moe::apply(program, of);
          return room_of(scheduled, moe::bind(scheduled, whole.routing, groups, rank));
        };
        const Room before = room(in_chunks(n)), after = room(schedule);
        own_bound += before.kept + before.gradients - after.restored - after.gradients;
      }
      const double bound = 2 * saved(s, n) * kRanks;
      EXPECT_GE(touched, 0.95 * bound) << n << " " << moe::to_json(strategy);
      // Of chunks that share no buffers, later rows and gradients take the place of rows that are
      // done with, so that their peak is less than all of their buffers together.
      EXPECT_GE(touched, 0.85 * own_bound) << n << " " << moe::to_json(strategy);
    }
  }
}

}  // namespace
}  // namespace tuner::mpmoe::mpmoe_memory_test
