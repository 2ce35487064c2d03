#pragma once

#include <functional>
#include <string>

#include "db/console/launcher.h"

namespace tuner {

/// Why the hosts of `ranks` ranks do not all answer: a launch of `true` on them has failed, or takes
/// longer than `limit_s` seconds. "" where they do, and for a rank that needs no launcher. `alive`:
/// see moe::run_child().
std::string why_hosts_are_silent(int ranks, const db::options::Launcher& launcher,
                                 const std::function<void()>& alive, double limit_s = 20);

}  // namespace tuner
