#include "viewer/model/setup_list.h"

#include <fmt/format.h>

#include <tuple>

namespace viewer {

std::vector<SetupGroup> setup_groups(std::span<const db::SetupOverview> setups) {
  const auto key = [&](std::size_t i) {
    const db::PredictedSetup& setup = setups[i].setup;
    return std::tie(setup.run_id, setup.settings, setup.ranks);
  };
  std::vector<SetupGroup> groups;
  for (std::size_t first = 0, end = 0; first < setups.size(); first = end) {
    while (end < setups.size() && key(end) == key(first)) ++end;
    groups.push_back(setups.subspan(first, end - first));
  }
  return groups;
}

std::string group_name(SetupGroup group) {
  const db::SetupOverview& one = group.front();
  std::string name =
      fmt::format("run {}: {}, {} ranks", one.setup.run_id, one.model, one.setup.ranks);
  if (!one.cluster.empty()) name += " of " + one.cluster;
  if (!one.setup.settings.empty()) name += ", " + one.setup.settings;
  return name;
}

std::string setup_name(const db::PredictedSetup& setup) {
  std::string name = fmt::format("{}, {} micro-batch{}", setup.layout, setup.micro_batches,
                                 setup.micro_batches == 1 ? "" : "es");
  if (setup.shard_optimizer != 0) name += ", sharded optimizer";
  if (setup.restored_blocks > 0) {
    name += fmt::format(", {} block{} restored", setup.restored_blocks,
                        setup.restored_blocks == 1 ? "" : "s");
  }
  if (setup.whole_blocks > 0) name += fmt::format(", {} of them whole", setup.whole_blocks);
  return name;
}

}  // namespace viewer
