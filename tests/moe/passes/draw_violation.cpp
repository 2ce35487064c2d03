#include "tests/moe/passes/draw_violation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "tests/moe/train/training_case.h"

namespace moe::test {
namespace {

/// The differences that rounding explains when sums are taken in another order.
constexpr double kDoubleRounding = 1e-12;
constexpr double kFloatRounding = 1e-5;
constexpr double kLaterRounding = 1e-4;  ///< of losses after updates
constexpr int kTrainedSteps = 5;

/// Values that are rounded to 8 bits in another order: their sums lie further apart, and a token
/// whose experts are nearly alike may go to another one.
constexpr double kBf16 = 4e-3, kBf16Later = 2e-2;

double tolerance(DType dtype) {
  return dtype == DType::f64 ? kDoubleRounding : dtype == DType::bf16 ? kBf16 : kFloatRounding;
}

/// Whether rounding changes gradients little. In bf16 it can send a token to another expert, and
/// switch a unit of relu on or off.
bool has_smooth_gradients(const Model& model) {
  if (model.dtype != DType::bf16) return true;
  return model.gate == "hash" && model.activation != Activation::relu;
}

/// The decisions of a schedule that change results.
Schedule changing(const Schedule& schedule) {
  Schedule kept{"changing", {}};
  for (const Decision& decision : schedule.decisions) {
    if (std::visit([](const auto& one) { return one.changes_results; }, decision)) {
      kept.decisions.push_back(decision);
    }
  }
  return kept;
}

/// By how much the gradients of a draw may differ from those of the sequential training. Two ways
/// to round to bf16 may lie further apart than usual where gradients nearly cancel; then each of
/// them is as far from what f64 gives.
double gradient_tolerance(const Draw& draw, const Outcome& reference, double difference) {
  const double usual = 10 * tolerance(draw.model.dtype);
  if (draw.model.dtype != DType::bf16 || difference < usual) return usual;
  Model wide = draw.model;
  wide.dtype = DType::f64;
  const Outcome exact = train_small(wide, changing(draw.schedule), 1, kTrainedSteps);
  return std::max(usual, 2 * largest_difference(reference, exact));
}

}  // namespace

std::string violation(const Draw& draw) {
  const Outcome reference = train_small(draw.model, changing(draw.schedule), 1, kTrainedSteps);
  const Schedule& later = draw.later ? *draw.later : draw.schedule;
  const Outcome outcome = train_in_turn(draw.model, {draw.schedule, draw.schedule, later},
                                        make_groups(draw.layout, draw.node_of), kTrainedSteps);
  const double limit = tolerance(draw.model.dtype);
  std::string text;
  const auto hold_together = [&](const char* what, double value, double expected, double most) {
    const double difference = std::abs(value - expected);
    if (!(difference <= most * std::abs(expected))) {
      text += std::string(what) + ": " + std::to_string(value) + " instead of " +
              std::to_string(expected) + "\n";
    }
  };
  hold_together("loss", outcome.losses[0], reference.losses[0], limit);
  hold_together("auxiliary loss", outcome.auxiliary_losses[0], reference.auxiliary_losses[0],
                limit);
  hold_together("z loss", outcome.z_losses[0], reference.z_losses[0], limit);
  if (draw.model.clip_norm) {
    hold_together("gradient norm", outcome.gradient_norms.at(0), reference.gradient_norms.at(0),
                  10 * limit);
  }
  for (int step = 1; step < kTrainedSteps; ++step) {  // these have gone through updates
    hold_together("later loss", outcome.losses[step], reference.losses[step],
                  draw.model.dtype == DType::bf16 ? kBf16Later : kLaterRounding);
  }
  if (!has_smooth_gradients(draw.model)) return text;
  if (const double difference = largest_difference(outcome, reference);
      !(difference < gradient_tolerance(draw, reference, difference))) {
    text += "gradients differ by " + std::to_string(difference) + "\n";
  }
  // After updates, rounding of fewer bits than f64's may send a token to another expert.
  const std::size_t exact_steps = draw.model.dtype == DType::f64 ? kTrainedSteps : 1;
  for (std::size_t step = 0; step < exact_steps; ++step) {
    if (outcome.dropped.at(step) == reference.dropped.at(step)) continue;
    text += "step " + std::to_string(step) + " dropped " + std::to_string(outcome.dropped[step]) +
            " copies instead of " + std::to_string(reference.dropped[step]) + "\n";
  }
  return text;
}

Draw shrink(Draw draw, const std::function<bool(const Draw&)>& fails) {
  const auto divided = [](const Layout& layout) {
    return [=](Draw& d) {
      if (rank_count(layout) >= rank_count(d.layout))
        return;  // or layouts would follow in a circle
      d.layout = layout;
      d.node_of.clear();
    };
  };
  const std::vector<std::function<void(Draw&)>> simpler{
      divided({1, 2, 1, 1}),
      divided({1, 1, 2, 1}),
      divided({1, 2, 1, 2}),
      divided({2, 1, 1, 1}),
      divided({1, 1, 1, 1}),
      [](Draw& d) { d.later.reset(); },
      [](Draw& d) {
        d.layout.pipeline = 1;
        d.node_of.clear();
      },
      [](Draw& d) { d.layout.tensor = 1; },
      [](Draw& d) {
        d.layout.expert_sharded = 1;
        d.node_of.clear();
      },
      [](Draw& d) { d.node_of.clear(); },
      [](Draw& d) {
        for (Decision& decision : d.schedule.decisions) {
          if (auto* split = std::get_if<PipelineSplit>(&decision)) split->ranks_per_group = 0;
        }
      },
      [](Draw& d) { d.model.own.erase("block_pattern"); },
      [](Draw& d) { d.model.dense_blocks = 0; },
      [](Draw& d) { d.model.blocks = d.model.moe_every; },
      [](Draw& d) { d.model.micro_batches = 1; },
      [](Draw& d) { d.model.shared_experts = 0; },
      [](Draw& d) { d.model.expert = "gpt"; },
      [](Draw& d) { d.model.activation = Activation::gelu; },
      [](Draw& d) { d.model.d_expert.reset(); },
      [](Draw& d) { d.model.norm = Norm::layer_norm; },
      [](Draw& d) { d.model.positions = Positions::learned; },
      [](Draw& d) { d.model.head = Head::untied; },
      [](Draw& d) { d.model.biases = true; },
      [](Draw& d) { d.model.key_value_heads.reset(); },
      [](Draw& d) {
        d.model.choices = 1;
        d.model.normalize_weights.reset();  // or gradients of scores are rounding
      },
      [](Draw& d) { d.model.gate = "softmax"; },
      [](Draw& d) { d.model.drop = Drop::choice; },
      [](Draw& d) { d.model.z_loss_weight = 0; },
      [](Draw& d) { d.model.order = "sparse"; },
      [](Draw& d) { d.model.hooks.clear(); },
      [](Draw& d) { d.model.capacity_factor.reset(); },
      [](Draw& d) { d.model.optimizer = Optimizer::sgd; },
      [](Draw& d) { d.model.clip_norm.reset(); },
      [](Draw& d) { d.model.weight_decay.reset(); },
      [](Draw& d) { d.model.learning_rate_schedule = RateSchedule::constant; },
      [](Draw& d) { d.model.warmup_steps = 0; },
      [](Draw& d) { d.model.heads = 1; },
      [](Draw& d) { d.model.dtype = DType::f64; }};
  int left = kMostShrinkings;
  for (bool changed = true; changed;) {
    changed = false;
    const auto try_on = [&](const auto& change) {
      Draw candidate = draw;
      change(candidate);
      try {
        keep_streams_there(candidate);
        if (describe(candidate) == describe(draw) || left == 0) return;
        --left;
        if (!fails(candidate)) return;
      } catch (const Refusal&) {
        return;
      }
      draw = std::move(candidate);
      changed = true;
    };
    for (std::size_t i = draw.schedule.decisions.size(); i-- > 0;) {
      try_on([&](Draw& d) {
        if (i < d.schedule.decisions.size()) {
          d.schedule.decisions.erase(d.schedule.decisions.begin() + static_cast<std::ptrdiff_t>(i));
        }
      });
    }
    for (const auto& change : simpler) try_on(change);
  }
  return draw;
}

}  // namespace moe::test
