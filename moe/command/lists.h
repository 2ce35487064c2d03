#pragma once

#include <functional>
#include <vector>

#include "db/console/options.h"
#include "moe/model/listing.h"

namespace moe {

/// Declares --list [NAME], which prints what there is and ends: the gates, orders, hooks, expert
/// networks and decisions, `more`, and by name alone the keys of a model file and the models that
/// `models` gives.
void declare_lists(CLI::App& app, std::vector<Listing> more, std::function<Listing()> models);

}  // namespace moe
