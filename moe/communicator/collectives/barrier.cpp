#include "moe/communicator/collectives/collectives.h"

namespace moe {

void carry_out(Group& group, const collective::Barrier& c, const CallContext& call) {
  const auto messages = group.messages(call, c.name);
  for (int step = 1; step < group.size(); ++step) {
    messages->receive(nullptr, 0, (group.rank + group.size() - step) % group.size());
  }
  for (int step = 1; step < group.size(); ++step) {
    messages->send(nullptr, 0, (group.rank + step) % group.size());
  }
  messages->wait_all();
}

}  // namespace moe
