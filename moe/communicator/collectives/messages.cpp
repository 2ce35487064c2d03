#include "moe/communicator/collectives/messages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace moe {

std::string waited_text(int rank, const CallContext& call, std::string_view collective,
                        const std::set<int>& for_ranks) {
  return fmt::format("rank {} waited {} s for rank{} {} in {}", rank, call.time_limit_s,
                     for_ranks.size() == 1 ? "" : "s", fmt::join(for_ranks, ", "),
                     name_of(call, collective));
}

}  // namespace moe
