#include "moe/passes/op_edits.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace moe {

Op OpEdits::take(std::size_t place) {
  taken_.at(place) = true;
  return std::move(ops_[place]);
}

void OpEdits::put_before(std::size_t place, std::vector<Op> ops) {
  if (place != ops_.size()) static_cast<void>(taken_.at(place));
  std::ranges::move(ops, std::back_inserter(before_[place]));
}

void OpEdits::put_behind(std::size_t place, std::vector<Op> ops) {
  static_cast<void>(taken_.at(place));
  std::vector<Op>& behind = behind_[place];
  std::ranges::move(behind, std::back_inserter(ops));
  behind = std::move(ops);
}

void OpEdits::make() {
  std::size_t size = ops_.size();
  for (const auto* put : {&before_, &behind_}) {
    for (const auto& [place, ops] : *put) size += ops.size();
  }
  std::vector<Op> result;
  result.reserve(size);
  auto before = before_.begin(), behind = behind_.begin();
  const auto add = [&](auto& next, const auto& end, std::size_t place) {
    if (next == end || next->first != place) return;
    std::ranges::move(next->second, std::back_inserter(result));
    ++next;
  };
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    add(before, before_.end(), i);
    if (!taken_[i]) result.push_back(std::move(ops_[i]));
    add(behind, behind_.end(), i);
  }
  add(before, before_.end(), ops_.size());
  ops_ = std::move(result);
}

}  // namespace moe
