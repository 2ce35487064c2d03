#include "moe/ask_planner.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "moe/errors.h"

namespace moe {
namespace {

/// One word of a shell command.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

Schedule ask_planner(const PlanRequest& request) {
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "moe-tune";
  if (!std::filesystem::exists(program))
    throw InputError(fmt::format("--planner {}: {} is missing", request.planner, program.string()));
  std::string command = quoted(program.string()) + " plan";
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) command += fmt::format(" {} {}", option, quoted(value));
  };
  add("--planner", request.planner);
  add("--model", request.model);
  add("--cluster", request.cluster);
  add("--db", request.database);
  add("--ranks", std::to_string(request.ranks));
  if (request.expert_ranks > 0) add("--expert-ranks", std::to_string(request.expert_ranks));

  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw InputError(fmt::format("cannot run {}", command));
  std::string output;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    output.append(buffer.data(), n);
  if (const int status = pclose(pipe); status != 0)
    throw InputError(fmt::format("--planner {}: moe-tune plan ended with status {}",
                                 request.planner, status >> 8));
  return schedule_from_json(output);
}

}  // namespace moe
