#include "moe/communicator/chain.h"

#include <algorithm>

#include "moe/ops/collective.h"

namespace moe {
namespace {

void add_fragments(const collective::ChainCall& call, std::size_t chain, int first_step,
                   std::vector<ChainFragment>& fragments) {
  const std::int64_t begin = call.chains[chain].begin, count = call.chains[chain].count;
  const int element = bytes_of(call.dtype);
  const std::int64_t fragment =
      std::max<std::int64_t>(1, chain_fragment_bytes(count * element) / element);
  for (std::int64_t done = 0; done < count; done += fragment) {
    fragments.push_back({chain, begin + done, std::min(fragment, count - done), first_step++});
  }
}

void in_order(ChainMessages& messages) {
  for (auto* fragments : {&messages.sends, &messages.receives}) {
    std::ranges::stable_sort(*fragments, {}, &ChainFragment::step);
  }
}

}  // namespace

ChainMessages chain_messages(const collective::ChainBroadcast& call) {
  ChainMessages messages;
  for (std::size_t i = 0; i < call.chains.size(); ++i) {
    const collective::Chain& chain = call.chains[i];
    if (chain.before >= 0) add_fragments(call, i, chain.place - 1, messages.receives);
    if (chain.after >= 0) add_fragments(call, i, chain.place, messages.sends);
  }
  in_order(messages);
  return messages;
}

ChainMessages chain_messages(const collective::ChainReduce& call) {
  ChainMessages messages;
  for (std::size_t i = 0; i < call.chains.size(); ++i) {
    const collective::Chain& chain = call.chains[i];
    if (chain.after >= 0) add_fragments(call, i, -chain.place, messages.receives);
    if (chain.before >= 0) add_fragments(call, i, 1 - chain.place, messages.sends);
  }
  in_order(messages);
  return messages;
}

}  // namespace moe
