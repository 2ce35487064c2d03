#include "tuner/study/silent_hosts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <vector>

#include "moe/child.h"
#include "moe/communicator/launch_command.h"

namespace tuner {

std::string why_hosts_are_silent(int ranks, const db::options::Launcher& launcher,
                                 const std::function<void()>& alive, double limit_s) {
  if (!moe::starts_ranks(ranks, launcher)) return "";
  moe::prepare_launch(ranks, launcher);
  std::array<char, 5> word{"true"};
  std::array<char*, 2> program{word.data(), nullptr};
  const std::vector<std::string> command = moe::launch_command(ranks, launcher, program.data());
  std::vector<std::string> argv{"/bin/sh", "-c", "exec \"$@\"", "sh"};
  argv.insert(argv.end(), command.begin(), command.end());
  const moe::ChildResult child = moe::run_child(argv, limit_s, alive);
  if (child.end == moe::ChildResult::End::exited && child.code == 0) return "";
  const std::string how = launcher.command.empty() ? fmt::format("{}", fmt::join(command, " "))
                                                   : launcher.command + " true";
  return child.end == moe::ChildResult::End::timed_out
             ? fmt::format("`{}` has not ended within {:.0f} s: a host does not answer", how,
                           limit_s)
             : fmt::format("`{}` ended with {}: a host does not answer", how, child.code);
}

}  // namespace tuner
