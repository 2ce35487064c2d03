#include "moe/communicator/chain.h"
#include "moe/communicator/collectives/collectives.h"

namespace moe {

void carry_out(Group& group, const collective::ChainBroadcast& c, const CallContext& call) {
  const int element = bytes_of(c.dtype);
  const auto messages = group.messages(call, c.name);
  const ChainMessages all = chain_messages(c);
  std::vector<int> arrivals;  // what this rank passes on
  for (const ChainFragment& fragment : all.receives) {
    const collective::Chain& chain = c.chains[fragment.chain];
    if (chain.after >= 0) arrivals.push_back(messages->posted());
    messages->receive(c.data + fragment.begin * element, fragment.count * element, chain.before);
  }
  std::size_t passed_on = 0;
  for (const ChainFragment& fragment : all.sends) {
    const collective::Chain& chain = c.chains[fragment.chain];
    if (chain.before >= 0) {
      const int arrival = arrivals[passed_on++];
      messages->wait(arrival, arrival + 1);
    }
    messages->send(c.data + fragment.begin * element, fragment.count * element, chain.after);
  }
  messages->wait_all();
}

}  // namespace moe
