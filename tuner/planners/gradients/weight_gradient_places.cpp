#include "tuner/planners/gradients/weight_gradient_places.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "moe/passes/repeated_op.h"
#include "moe/program/start_rule.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

/// The free gradient that may overlap the exchange and whose time is nearest to `wanted_s`; -1
/// where there is none.
int nearest(std::span<const WeightGradient> gradients, std::span<const int> assignment,
            int exchange, double wanted_s) {
  int best = -1;
  double best_s = std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < gradients.size(); ++j) {
    const auto& may = gradients[j].may_overlap;
    if (assignment[j] >= 0 || !std::binary_search(may.begin(), may.end(), exchange)) continue;
    const double away_s = std::abs(wanted_s - gradients[j].seconds);
    if (away_s < best_s) {
      best = static_cast<int>(j);
      best_s = away_s;
    }
  }
  return best;
}

/// The ops of one micro-batch's backward phase that make a parameter's gradient, and the name of
/// the parameter.
struct Maker {
  std::string parameter;
  std::vector<std::size_t> ops;
};

bool is_exchange(const moe::Op& op) {
  return op.phase == moe::Phase::backward && op.micro_batch == 0 && moe::direction_of(op) &&
         !moe::is_repeated(op);
}

/// [op]: the exchanges (by index) that it comes after on some path of dependencies.
std::vector<std::vector<bool>> exchanges_before(const moe::Program& program,
                                                const std::vector<std::vector<int>>& waits,
                                                const std::vector<std::size_t>& exchanges) {
  std::vector<std::vector<bool>> before(program.ops.size(),
                                        std::vector<bool>(exchanges.size(), false));
  std::size_t next = 0;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    for (const int earlier : waits[i]) {
      const auto from = static_cast<std::size_t>(earlier);
      for (std::size_t e = 0; e < next; ++e) {
        if (before[from][e] || exchanges[e] == from) before[i][e] = true;
      }
    }
    if (next < exchanges.size() && exchanges[next] == i) ++next;
  }
  return before;
}

std::vector<Maker> makers_of(const moe::Program& program) {
  std::map<moe::TensorId, std::string> parameter_of;  // by gradient
  for (const moe::Parameter& parameter : program.parameters) {
    parameter_of[parameter.gradient] = program.tensors[parameter.value].name;
  }
  std::vector<Maker> makers;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    if (op.micro_batch != 0 || !moe::makes_weight_gradients(program, op)) continue;
    // A bias goes with its weight.
    const std::string& parameter = parameter_of.at(op.writes.front().tensor);
    const auto same = std::find_if(makers.begin(), makers.end(),
                                   [&](const Maker& one) { return one.parameter == parameter; });
    if (same == makers.end()) {
      makers.push_back({parameter, {i}});
    } else {
      same->ops.push_back(i);
    }
  }
  return makers;
}

}  // namespace

std::vector<int> assign_weight_gradients(std::span<const double> exchange_s,
                                         std::span<const WeightGradient> gradients) {
  std::vector<int> assignment(gradients.size(), -1);
  for (std::size_t i = 0; i < exchange_s.size(); ++i) {
    const int exchange = static_cast<int>(i);
    double left_s = exchange_s[i];
    bool placed = false;
    while (left_s > 0) {
      const int next = nearest(gradients, assignment, exchange, left_s);
      if (next < 0) break;
      const auto at = static_cast<std::size_t>(next);
      if (placed && gradients[at].seconds > 2 * left_s) break;
      assignment[at] = exchange;
      left_s -= gradients[at].seconds;
      placed = true;
    }
    for (std::size_t j = 0; j < gradients.size(); ++j) {
      const auto& may = gradients[j].may_overlap;
      if (assignment[j] < 0 && !may.empty() && may.back() == exchange) assignment[j] = exchange;
    }
  }
  return assignment;
}

std::vector<moe::PlaceWeightGradient> weight_gradient_places(const Situation& situation,
                                                             const moe::Schedule& decided) {
  const auto [program, seconds] = timed(situation, decided);
  std::vector<std::size_t> exchanges;
  std::vector<double> exchange_s;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (!is_exchange(program.ops[i])) continue;
    exchanges.push_back(i);
    exchange_s.push_back(seconds[i]);
  }
  const std::vector<std::vector<int>> waits = moe::waits_for(program);
  const auto before = exchanges_before(program, waits, exchanges);
  // [op]: the ops that wait for it.
  std::vector<std::vector<std::size_t>> waiting(program.ops.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    for (const int earlier : waits[i]) waiting[earlier].push_back(i);
  }

  const std::vector<Maker> makers = makers_of(program);
  std::vector<WeightGradient> gradients;
  for (const Maker& maker : makers) {
    WeightGradient gradient;
    // The operands of a gradient must be issued before the exchange, and its readers after. Where
    // both hold, only a path from the exchange to the gradient can join them.
    std::size_t made = 0, used = program.ops.size();
    for (const std::size_t op : maker.ops) {
      gradient.seconds += seconds[op];
      const auto is_maker = [&](std::size_t other) {
        return std::find(maker.ops.begin(), maker.ops.end(), other) != maker.ops.end();
      };
      for (const int earlier : waits[op]) {
        if (!is_maker(static_cast<std::size_t>(earlier))) {
          made = std::max(made, static_cast<std::size_t>(earlier));
        }
      }
      for (const std::size_t later : waiting[op]) {
        if (!is_maker(later)) used = std::min(used, later);
      }
    }
    for (std::size_t e = 0; e < exchanges.size(); ++e) {
      const bool after = std::any_of(maker.ops.begin(), maker.ops.end(),
                                     [&](std::size_t op) { return before[op][e]; });
      const bool same_stage =
          program.ops[exchanges[e]].stage == program.ops[maker.ops.front()].stage;
      if (!after && same_stage && made < exchanges[e] && exchanges[e] < used) {
        gradient.may_overlap.push_back(static_cast<int>(e));
      }
    }
    gradients.push_back(std::move(gradient));
  }

  const std::vector<int> assignment = assign_weight_gradients(exchange_s, gradients);
  std::vector<moe::PlaceWeightGradient> places;
  for (std::size_t j = 0; j < makers.size(); ++j) {
    if (assignment[j] < 0) continue;
    const moe::Op& exchange = program.ops[exchanges[assignment[j]]];
    places.push_back({makers[j].parameter, exchange.layer, *moe::direction_of(exchange),
                      moe::share_of(exchange).index});
  }
  return places;
}

}  // namespace tuner
