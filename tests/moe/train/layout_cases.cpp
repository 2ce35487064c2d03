#include "tests/moe/train/layout_cases.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/moe/train/training_case.h"

namespace moe::test {
namespace {

constexpr int kSteps = 3;
constexpr double kDouble = 1e-12;

Schedule with_order(Schedule schedule, MicroBatchOrder order) {
  schedule.decisions.push_back(OrderMicroBatches{order});
  return schedule;
}

/// In every layer the first expert of each of so many ranks on the next rank too, the transfers of
/// the last layer beside the layer before.
Schedule with_replicas(const Model& model, Schedule schedule, int members) {
  ExpertPlacement placement;
  for (int member = 0; member < members; ++member) {
    placement.replicas.push_back(
        {member * static_cast<int>(model.experts) / members, {(member + 1) % members}});
  }
  for (int block = 0; block < model.blocks; ++block) {
    schedule.decisions.push_back(ReplicateExperts{block, placement});
  }
  const int last = model.blocks - 1;
  for (const Transfer transfer : {Transfer::send, Transfer::give_back}) {
    schedule.decisions.push_back(HoistTransfer{
        last,
        transfer,
        {{1, ExchangePlace::dispatch, last - 1}, {2, ExchangePlace::combine, last - 1}}});
  }
  schedule.decisions.push_back(StreamAssignment{"send_experts", Stream::inter_node});
  schedule.decisions.push_back(StreamAssignment{"return_gradients", Stream::intra_node});
  return schedule;
}

/// The schedule with every layer's experts dealt out in turn, and then, for each step, one rank
/// further.
Schedules with_moving_homes(const Model& model, const Schedule& schedule, int members) {
  Schedules in_turn;
  for (int step = 0; step < kSteps; ++step) {
    ExpertHomes homes;
    for (int expert = 0; expert < model.experts; ++expert) {
      homes.push_back((expert + step) % members);
    }
    in_turn.push_back(schedule);
    for (int block = 0; block < model.blocks; ++block) {
      in_turn.back().decisions.push_back(PlaceExperts{block, homes});
    }
  }
  return in_turn;
}

/// |part - its place in the whole| / |whole|
double difference(const TensorPart& part, const std::vector<double>& whole) {
  double apart = 0, norm = 0;
  for (std::size_t i = 0; i < part.values.size(); ++i) {
    const double other = whole.at(static_cast<std::size_t>(part.places[i]));
    apart += (part.values[i] - other) * (part.values[i] - other);
  }
  for (const double value : whole) norm += value * value;
  return apart == 0 ? 0 : std::sqrt(apart / norm);
}

}  // namespace

Model layout_model() {
  Model model = small_model(DType::f64);
  model.blocks = 4;
  model.moe_every = 1;
  model.experts = 8;
  model.micro_batches = 2;
  model.global_batch = model.capacity_groups = 16 * model.micro_batches;
  model.capacity_factor.reset();
  return model;
}

std::vector<LayoutCase> layout_cases(int ranks) {
  const int more = ranks / 4;
  const Model model = layout_model();
  const Schedule sequential{"sequential", {}}, chunks = chunked(model, 2, 3);
  std::vector<LayoutCase> cases{
      {"dp2_ep", {2, 2 * more, 1, 1, 1}, {sequential}},
      {"dp2_ep_chunked", {2, 2 * more, 1, 1, 1}, {chunks}},
      {"dp2_ep_interleaved",
       {2, 2 * more, 1, 1, 1},
       {with_order(sequential, MicroBatchOrder::interleaved)}},
      {"dp2_ep_chunked_in_groups",
       {2, 2 * more, 1, 1, 1},
       {with_order(chunks, MicroBatchOrder::in_groups)}},
      {"ep_esp2", {1, 2 * more, 2, 1, 1}, {sequential}},
      {"ep_esp2_chunked", {1, 2 * more, 2, 1, 1}, {chunks}},
      {"ep_tp2_esp2", {1, 2 * more, 2, 2, 1}, {sequential}},
      {"ep_tp2_esp2_chunked", {1, 2 * more, 2, 2, 1}, {chunks}},
      {"ep_tp2_esp2_chunked_interleaved",
       {1, 2 * more, 2, 2, 1},
       {with_order(chunks, MicroBatchOrder::interleaved)}},
      {"dp2_ep_replicated", {2, 2 * more, 1, 1, 1}, {with_replicas(model, chunks, 2 * more)}},
      {"ep_esp2_replicated", {1, 2 * more, 2, 1, 1}, {with_replicas(model, sequential, 2 * more)}},
      {"dp2_ep_moving_homes", {2, 2 * more, 1, 1, 1}, with_moving_homes(model, chunks, 2 * more)},
      {"ep_esp2_moving_homes",
       {1, 2 * more, 2, 1, 1},
       with_moving_homes(model, sequential, 2 * more)},
      {"pp2_ep_moving_homes",
       {1, 2 * more, 1, 1, 2},
       with_moving_homes(model, sequential, 2 * more)},
  };
  const auto add_pipeline = [&](const std::string& name, const Layout& layout) {
    cases.push_back({name, layout, {sequential}});
    for (const auto& [order, text] : {std::pair{MicroBatchOrder::gpipe, "_gpipe"},
                                      {MicroBatchOrder::one_f_one_b, "_1f1b"},
                                      {MicroBatchOrder::zero_bubble, "_zero_bubble"}}) {
      cases.push_back({name + text, layout, {with_order(sequential, order)}});
      cases.push_back({name + text + "_chunked", layout, {with_order(chunks, order)}});
    }
  };
  cases.push_back(
      {"pp2_ep_stages_in_turn",
       {1, 2 * more, 1, 1, 2},
       {{"in turn",
         {PlaceBlocks{{0, 1, 0, 1}}, OrderMicroBatches{MicroBatchOrder::interleaved_stages},
          StreamAssignment{"pass_on", Stream::inter_node}}}}});
  add_pipeline("pp2_ep", {1, 2 * more, 1, 1, 2});
  if (ranks == 8) add_pipeline("dp2_pp2_ep2", {2, 2, 1, 1, 2});
  return cases;
}

void check_layout(const LayoutCase& layout_case, Communicator& world) {
  const Model model = layout_model();
  const Outcome one = train_small(model, {"sequential", {}}, 1, kSteps);
  const auto backend = make_cpu_backend(1);
  RankOutcome mine = train_rank(model, layout_case.schedules, make_groups(layout_case.layout),
                                kSteps, world, *backend);
  world.all_reduce(mine.losses.data(), kSteps, DType::f64, {.what = "losses"});
  for (int step = 0; step < kSteps; ++step) {
    EXPECT_NEAR(mine.losses[step], one.losses[step], kDouble * one.losses[step])
        << layout_case.name << ", step " << step;
  }
  EXPECT_FALSE(mine.gradients.empty());
  for (const TensorPart& part : mine.gradients) {
    EXPECT_LT(difference(part, one.gradients.at(part.name)), kDouble)
        << layout_case.name << ", " << part.name << " on rank " << world.rank;
  }
  EXPECT_EQ(mine.last.touched_peak_bytes, mine.last.planned_peak_bytes)
      << layout_case.name << " on rank " << world.rank;
}

}  // namespace moe::test
