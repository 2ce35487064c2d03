#pragma once

#include <sys/types.h>

#include <filesystem>
#include <set>

namespace moe {

/// Children of this process, as /proc lists them.
std::set<pid_t> child_processes();

/// From now on a descendant of this process whose parent ends becomes a child of this process.
void adopt_orphans();

/// Waits a second for every child to end, except `others`, and kills those that go on. With a
/// `program`, only the children that execute it count.
void end_orphans(const std::set<pid_t>& others, const std::filesystem::path& program = {});

}  // namespace moe
