#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "moe/communicator/collectives/group_nodes.h"
#include "moe/communicator/communicator.h"

/// Point-to-point messages, on which all collectives of host communicators are built: over MPI
/// (mpi/messages.h), or between threads (local.cpp).
namespace moe {

/// Collectives send data and results.
enum class Channel : int { data = 0, result = 1 };

/// What error messages call a collective: as the call says, else by its own name.
inline std::string_view name_of(const CallContext& call, std::string_view collective) {
  return call.what.empty() ? collective : call.what;
}
/// "rank 0 waited 60 s for ranks 1, 2 in all_reduce". Ranks are those of the world.
std::string waited_text(int rank, const CallContext& call, std::string_view collective,
                        const std::set<int>& for_ranks);

/// The sends and receives of one collective on one group. Messages have any length, the same on
/// both sides. Those from the same sender on the same channel arrive in the order in which they
/// were sent.
class Messages {
 public:
  virtual ~Messages() = default;

  virtual void send(const void* data, std::int64_t bytes, int peer,
                    Channel channel = Channel::data) = 0;
  virtual void receive(void* data, std::int64_t bytes, int peer,
                       Channel channel = Channel::data) = 0;
  /// Messages so far: the position of the next one.
  virtual int posted() const = 0;
  /// Waits until the messages [begin, end) are done. The others make progress meanwhile. Throws
  /// TimeLimit naming the ranks whose messages are missing, where no rank works (announced_work.h)
  /// within the limit, and CommunicationError when another member gave up.
  virtual void wait(int begin, int end) = 0;
  void wait_all() { wait(0, posted()); }
};

/// The members of a communicator, of which this rank is one.
struct Group {
  Group() = default;
  virtual ~Group() = default;
  Group(Group&&) = default;
  Group& operator=(Group&&) = default;

  /// For one collective, of this name. Throws CommunicationError if the group failed before. A
  /// member that gave up since is noticed by wait(): messages that it sent before count.
  virtual std::unique_ptr<Messages> messages(const CallContext& call,
                                             std::string_view collective) = 0;

  int rank = 0;                  ///< this rank among the members
  std::vector<int> world_ranks;  ///< by member: its rank in the world
  GroupNodes nodes;              ///< where the members run
  /// Memory that reductions receive into. It is kept, since fresh pages cost more than the sums.
  std::vector<std::byte> scratch;
  std::int64_t sent_bytes = 0;  ///< what this rank has sent to other members

  int size() const { return static_cast<int>(world_ranks.size()); }
};

}  // namespace moe
