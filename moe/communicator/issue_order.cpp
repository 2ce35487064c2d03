#include "moe/communicator/issue_order.h"

namespace moe {

std::vector<int> issued_before(const Program& program) {
  std::vector<int> before(program.ops.size(), -1);
  int last = -1;
  for (int i = 0; i < static_cast<int>(program.ops.size()); ++i) {
    const Op& op = program.ops[i];
    if (facts_of(op).executor != Executor::communicator) continue;
    before[i] = last;
    last = i;
  }
  return before;
}

}  // namespace moe
