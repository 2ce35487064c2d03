#include "tuner/study/study_situation.h"

#include <fmt/format.h>

#include <cstdint>

#include "moe/model/iteration.h"
#include "moe/model/layout_refusal.h"
#include "tuner/scenario/routing_spec.h"
#include "tuner/study/prediction.h"

namespace tuner {
namespace {

/// Empty where none is asked for.
std::vector<moe::Routing> routings_asked_for(const StudyOptions& options,
                                             const moe::Program& program,
                                             const moe::Groups& groups) {
  if (options.routing.empty()) return {};
  return make_routings(options.routing, program, groups,
                       static_cast<std::uint64_t>(options.model.seed), options.say);
}

}  // namespace

StudySituation::StudySituation(const StudyOptions& options)
    : groups(moe::make_groups(
          moe::parse_layout(options.job.layout, options.job.ranks, moe::fits(options.model)))),
      program(moe::build_iteration(options.model, groups, 0)),
      given(load_all_given(options.given, program)),
      options_(options),
      asked_routings_(routings_asked_for(options, program, groups)) {}

moe::Routing StudySituation::expected_routing() const {
  return asked_routings_.empty() ? make_routing("uniform", program, groups, 0)
                                 : asked_routings_.front();
}

void StudySituation::take(const Profile& profile) {
  groups = program.groups = profile.groups;
  machine = profile.machine;
  // Planners may use as much of a rank's memory as the study was asked to keep to.
  planned_cluster_ = machine.cluster;
  if (options_.job.memory_limit_bytes > 0) {
    planned_cluster_.memory_bytes = options_.job.memory_limit_bytes;
  }
  routings_ = asked_routings_.empty() ? profile.routings : asked_routings_;
  const Planner& sequential = planner_named(db::kSequential);
  CostModel even = machine.costs;  // the routing is to be typical, not the ranks that it met
  even.slowdowns.clear();
  Situation any{program, groups, routings_.front(), even, machine.cluster};
  any.routings = routings_;
  typical_ = predict(any, sequential, sequential.plan(any, {})).routing;
}

void StudySituation::take_places(const moe::Groups& measured) {
  const moe::Layout layout = groups.layout;
  groups = measured;
  groups.layout = layout;
  program.groups = groups;
}

Situation StudySituation::situation() const {
  Situation all{program, groups, typical_, machine.costs, planned_cluster_};
  all.routings = routings_;
  return all;
}

}  // namespace tuner
