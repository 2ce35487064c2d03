#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "moe/communicator/chain.h"
#include "moe/communicator/collectives/collectives.h"
#include "moe/communicator/collectives/reduce_fragments.h"

namespace moe {
namespace {

/// Sums under way at a time: some arrive, one is added, some leave.
constexpr std::size_t kLeastSumsUnderWay = 8;
constexpr std::size_t kArriving = 4;

/// Room for how many sums there is. A rank that is about to receive a sum waits until the one
/// before it in its place has left. That one came at least two steps earlier, so it leaves in an
/// earlier step than the new one arrives in: ranks would wait for each other in a circle otherwise.
std::size_t sums_under_way(const collective::ChainReduce& c, const ChainMessages& all) {
  std::vector<int> steps;  // in which those arrive that this rank passes on
  for (const ChainFragment& fragment : all.receives) {
    if (c.chains[fragment.chain].before >= 0) steps.push_back(fragment.step);
  }
  std::size_t sums = kLeastSumsUnderWay;
  for (std::size_t i = 0, first = 0; i < steps.size(); ++i) {
    while (steps[first] + 1 < steps[i]) ++first;
    sums = std::max(sums, i - first + 1);
  }
  return sums;
}

}  // namespace

void carry_out(Group& group, const collective::ChainReduce& c, const CallContext& call) {
  const int element = bytes_of(c.dtype);
  const auto messages = group.messages(call, c.name);
  const ChainMessages all = chain_messages(c);
  std::int64_t largest = 0;
  for (const ChainFragment& fragment : all.receives) largest = std::max(largest, fragment.count);
  const std::size_t under_way = sums_under_way(c, all);
  std::byte* const scratch =
      reduce_scratch(group, static_cast<std::int64_t>(under_way) * largest * element);
  const auto place_of = [&](std::size_t sum) {
    return scratch + static_cast<std::int64_t>(sum % under_way) * largest * element;
  };

  std::vector<int> arrivals, sent;  // of the sums that this rank passes on
  std::size_t next = 0;             // to receive
  const auto receive_more = [&] {
    for (; next < all.receives.size(); ++next) {
      const ChainFragment& fragment = all.receives[next];
      const collective::Chain& chain = c.chains[fragment.chain];
      std::byte* to = c.data + fragment.begin * element;
      if (chain.before >= 0) {
        const std::size_t sum = arrivals.size();
        if (sum >= sent.size() + kArriving) return;
        if (sum >= under_way) {
          const int last_there = sent[sum - under_way];
          messages->wait(last_there, last_there + 1);
        }
        to = place_of(sum);
        arrivals.push_back(messages->posted());
      }
      messages->receive(to, fragment.count * element, chain.after);
    }
  };
  receive_more();
  for (const ChainFragment& fragment : all.sends) {
    const collective::Chain& chain = c.chains[fragment.chain];
    const std::byte* from = c.data + fragment.begin * element;
    if (chain.after < 0) {
      messages->send(from, fragment.count * element, chain.before);
      continue;
    }
    const std::size_t sum = sent.size();
    messages->wait(arrivals[sum], arrivals[sum] + 1);
    std::byte* const to = place_of(sum);
    sum_in_order(std::array<const void*, 2>{to, from}, to, fragment.count, c.dtype);
    sent.push_back(messages->posted());
    messages->send(to, fragment.count * element, chain.before);
    receive_more();
  }
  messages->wait_all();
}

}  // namespace moe
