#include "db/logged_collectives.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace db {
namespace {

constexpr std::array kLoggedCollectives{
    LoggedCollective{"all_reduce", "all_reduce_perf", "Allreduce", "allreduce"},
    LoggedCollective{"all_gather", "all_gather_perf", "Allgather", "allgather", true},
    LoggedCollective{"reduce_scatter", "reduce_scatter_perf", "Reduce_scatter", "reducescatter"},
    LoggedCollective{"all_to_all", "alltoall_perf", "All-to-All Personalized Exchange", "alltoall",
                     true},
    LoggedCollective{"broadcast", "broadcast_perf", "Broadcast", "broadcast"},
    LoggedCollective{"reduce", "reduce_perf", "Reduce", "reduce"}};

}  // namespace

const LoggedCollective* collective_with(std::string_view LoggedCollective::*what,
                                        std::string_view text) {
  const auto* found = std::ranges::find(kLoggedCollectives, text, what);
  return found == kLoggedCollectives.end() ? nullptr : found;
}

std::string all_that_are(std::string_view LoggedCollective::*what) {
  std::vector<std::string_view> texts;
  for (const LoggedCollective& one : kLoggedCollectives) texts.push_back(one.*what);
  return fmt::format("{}", fmt::join(texts, ", "));
}

const LoggedCollective* collective_of_file(std::string_view path) {
  std::string name;
  for (const unsigned char c : path.substr(path.rfind('/') + 1)) {
    if (std::isalnum(c) != 0) name += static_cast<char>(std::tolower(c));
  }
  const LoggedCollective* found = nullptr;
  std::size_t first = std::string::npos;
  for (const LoggedCollective& one : kLoggedCollectives) {
    if (const std::size_t at = name.find(one.file); at < first) first = at, found = &one;
  }
  return found;
}

}  // namespace db
