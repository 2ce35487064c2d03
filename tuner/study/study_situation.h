#pragma once

#include <vector>

#include "moe/program/program.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"
#include "tuner/costs/cluster.h"
#include "tuner/planners/planners.h"
#include "tuner/scenario/given.h"
#include "tuner/study/profile.h"
#include "tuner/study/study.h"

namespace tuner {

/// What a study plans and predicts from: the Program of its model, and the costs and routings of a
/// profile.
class StudySituation {
 public:
  /// Errors in the model, the routing or the given files are found here, before there is a database.
  /// `options` live as long.
  explicit StudySituation(const StudyOptions& options);

  void take(const Profile& profile);
  /// Which ranks and cards are on which nodes, as measured in another layout.
  void take_places(const moe::Groups& measured);

  Situation situation() const;

  /// The routing by which schedules are measured against a memory limit before anything is trained.
  moe::Routing expected_routing() const;

  moe::Groups groups;
  moe::Program program;
  std::vector<Given> given;
  CostedCluster machine;

 private:
  const StudyOptions& options_;
  std::vector<moe::Routing> asked_routings_;  ///< instead of the profile's
  Cluster planned_cluster_;                   ///< the machine's, with the memory that is asked for
  std::vector<moe::Routing> routings_;        ///< of the iterations that are predicted
  moe::Routing typical_;  ///< the one whose sequential iteration is of median length
};

}  // namespace tuner
