#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "db/run_links.h"
#include "moe/communicator/communicator.h"
#include "moe/run/runner.h"

namespace moe {

/// What came to this rank from another one in an exchange.
struct Received {
  int from = 0;  ///< the rank that sent
  std::int64_t bytes = 0;
  double busy_s = 0;  ///< from when the sender had begun the exchange until the last byte was there
};

/// The transfers of an iteration to `own_rank`. `begun_s` says when a rank began an op, and
/// `on_clock` puts the times of arrivals on the same clock. Only those for which this rank waited:
/// where it begins later than the sender, nobody knows when the bytes came.
std::vector<Received> transfers_of(std::span<const Arrival> arrivals, int own_rank,
                                   const std::function<double(int rank, int op)>& begun_s,
                                   const std::function<double(double)>& on_clock);

/// The transfers to this rank over the iterations of a training. The rate of a link is the median of
/// theirs, of the newest ones where they are many.
class LinkTimes {
 public:
  void add(std::span<const Received> of_iteration);
  /// Those of all ranks, on rank 0; without run_id. Collective.
  std::vector<db::RunLink> gather(Communicator& world, double time_limit_s) const;

 private:
  struct Link {
    std::int64_t transfers = 0;
    std::int64_t bytes = 0;
    double busy_s = 0;
    std::vector<double> rates;  ///< bytes per second, of the newest transfers
  };
  std::vector<Link> links_;  ///< [rank that sent]
};

}  // namespace moe
