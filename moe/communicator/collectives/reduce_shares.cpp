#include <algorithm>
#include <memory>
#include <vector>

#include "moe/communicator/collectives/collectives.h"
#include "moe/communicator/collectives/reduce_fragments.h"

namespace moe {
namespace {

/// The elements that travel together to one rank: ranges of ShareCall::data.
using Fragment = std::vector<ElementRange>;

/// The shares that `owner` has of all arrays, one after the other, in fragments of at most `most`
/// elements.
std::vector<Fragment> fragments_of(const collective::ShareCall& c, int owner, int ranks,
                                   std::int64_t most) {
  std::vector<Fragment> fragments;
  std::int64_t room = 0;
  for (const ElementRange& array : c.arrays) {
    ElementRange share = element_share(array, owner, ranks);
    while (share.count > 0) {
      if (room == 0) {
        fragments.emplace_back();
        room = most;
      }
      const std::int64_t taken = std::min(share.count, room);
      fragments.back().push_back({share.begin, taken});
      share = {share.begin + taken, share.count - taken};
      room -= taken;
    }
  }
  return fragments;
}

class SharesReduction {
 public:
  SharesReduction(Group& group, const collective::ReduceShares& c, const CallContext& call)
      : group_(group),
        data_(c.data),
        dtype_(c.dtype),
        element_(bytes_of(c.dtype)),
        ranks_(group.size()),
        most_(std::min(longest_share(c, ranks_), reduce_fragment_count(ranks_, c.dtype))),
        scratch_(reduce_scratch(group, kReduceFragmentsUnderWay * ranks_ * most_ * element_)),
        messages_(group.messages(call, c.name)) {
    for (int owner = 0; owner < ranks_; ++owner) {
      fragments_.push_back(fragments_of(c, owner, ranks_, most_));
      count_ = std::max(count_, fragments_.back().size());
    }
  }

  void run() {
    for (std::size_t f = 0; f < kReduceFragmentsUnderWay; ++f) post(f);
    for (std::size_t f = 0; f < count_; ++f) {
      messages_->wait(posted_[f].begin, posted_[f].receives_end);
      add(f);
      post(f + kReduceFragmentsUnderWay);
    }
    messages_->wait_all();
  }

 private:
  static std::int64_t longest_share(const collective::ShareCall& c, int ranks) {
    std::int64_t count = 0;
    for (const ElementRange& array : c.arrays) count += largest_share(array.count, ranks);
    return count;
  }

  const Fragment& fragment(int owner, std::size_t f) const {
    static const Fragment nothing;
    const auto& of_owner = fragments_[static_cast<std::size_t>(owner)];
    return f < of_owner.size() ? of_owner[f] : nothing;
  }
  std::byte* received(std::size_t f, int peer) const {
    const auto slot = static_cast<std::int64_t>(f % kReduceFragmentsUnderWay) * ranks_ + peer;
    return scratch_ + slot * most_ * element_;
  }

  void post(std::size_t f) {
    if (f >= count_) return;
    const int begin = messages_->posted();
    for (int step = 1; step < ranks_; ++step) {
      const int peer = (group_.rank + ranks_ - step) % ranks_;
      std::byte* to = received(f, peer);
      for (const ElementRange& range : fragment(group_.rank, f)) {
        messages_->receive(to, range.count * element_, peer);
        to += range.count * element_;
      }
    }
    posted_.push_back({begin, messages_->posted()});
    for (int step = 1; step < ranks_; ++step) {
      const int peer = (group_.rank + step) % ranks_;
      for (const ElementRange& range : fragment(peer, f)) {
        messages_->send(data_ + range.begin * element_, range.count * element_, peer);
      }
    }
  }

  void add(std::size_t f) {
    std::vector<const void*> parts(static_cast<std::size_t>(ranks_));
    std::int64_t before = 0;  // elements of the fragment
    for (const ElementRange& range : fragment(group_.rank, f)) {
      std::byte* const own = data_ + range.begin * element_;
      for (int peer = 0; peer < ranks_; ++peer) {
        parts[static_cast<std::size_t>(peer)] =
            peer == group_.rank ? own : received(f, peer) + before * element_;
      }
      sum_parts(group_, parts, own, range.count, dtype_);
      before += range.count;
    }
  }

  struct Posted {
    int begin, receives_end;
  };

  Group& group_;
  std::byte* const data_;
  const DType dtype_;
  const std::int64_t element_;
  const int ranks_;
  const std::int64_t most_;  ///< elements of a fragment
  std::byte* const scratch_;
  std::unique_ptr<Messages> messages_;
  std::vector<std::vector<Fragment>> fragments_;  ///< by owner
  std::size_t count_ = 0;                         ///< the most fragments that an owner has
  std::vector<Posted> posted_;                    ///< by fragment
};

}  // namespace

void carry_out(Group& group, const collective::ReduceShares& c, const CallContext& call) {
  if (group.size() == 1) return;
  SharesReduction(group, c, call).run();
}

}  // namespace moe
