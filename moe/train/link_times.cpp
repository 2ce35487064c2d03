#include "moe/train/link_times.h"

#include <algorithm>
#include <cstddef>

#include "db/console/statistics.h"

namespace moe {
namespace {

constexpr std::size_t kNewestRates = 1024;
/// A receiver that begins later than the sender, by this share of the transfer, may find bytes there
/// already.
constexpr double kLate = 0.1;
constexpr std::size_t kPerLink = 5;

}  // namespace

std::vector<Received> transfers_of(std::span<const Arrival> arrivals, int own_rank,
                                   const std::function<double(int rank, int op)>& begun_s,
                                   const std::function<double(double)>& on_clock) {
  std::vector<Received> transfers;
  for (const Arrival& arrival : arrivals) {
    const double sent_s = begun_s(arrival.from, arrival.op);
    const double busy_s = on_clock(arrival.at_s) - sent_s;
    const double late_s = begun_s(own_rank, arrival.op) - sent_s;
    if (busy_s <= 0 || late_s > kLate * busy_s) continue;
    transfers.push_back({arrival.from, arrival.bytes, busy_s});
  }
  return transfers;
}

void LinkTimes::add(std::span<const Received> of_iteration) {
  for (const Received& transfer : of_iteration) {
    const auto from = static_cast<std::size_t>(transfer.from);
    if (links_.size() <= from) links_.resize(from + 1);
    Link& link = links_[from];
    const double rate = static_cast<double>(transfer.bytes) / transfer.busy_s;
    if (link.rates.size() < kNewestRates) {
      link.rates.push_back(rate);
    } else {
      link.rates[static_cast<std::size_t>(link.transfers) % kNewestRates] = rate;
    }
    ++link.transfers;
    link.bytes += transfer.bytes;
    link.busy_s += transfer.busy_s;
  }
}

std::vector<db::RunLink> LinkTimes::gather(Communicator& world, double time_limit_s) const {
  const auto ranks = static_cast<std::size_t>(world.size);
  std::vector<double> own(kPerLink * ranks);
  for (std::size_t from = 0; from < links_.size(); ++from) {
    const Link& link = links_[from];
    if (link.transfers == 0) continue;
    double* const told = own.data() + kPerLink * from;
    told[0] = static_cast<double>(link.transfers);
    told[1] = static_cast<double>(link.bytes);
    told[2] = link.busy_s;
    told[3] = db::median(link.rates);
    told[4] = std::min(1.0, db::relative_error_of_median(link.rates));
  }
  std::vector<double> all(own.size() * ranks);
  world.all_gather(own.data(), all.data(), static_cast<std::int64_t>(own.size()), DType::f64,
                   {.time_limit_s = time_limit_s, .what = "gathering of transfers"});
  std::vector<db::RunLink> links;
  if (world.rank != 0) return links;
  for (int to = 0; to < world.size; ++to) {
    for (int from = 0; from < world.size; ++from) {
      const double* told = all.data() + kPerLink * (static_cast<std::size_t>(to) * ranks +
                                                    static_cast<std::size_t>(from));
      if (told[0] == 0) continue;
      links.push_back({.from_rank = from,
                       .to_rank = to,
                       .transfers = static_cast<std::int64_t>(told[0]),
                       .bytes = static_cast<std::int64_t>(told[1]),
                       .busy_s = told[2],
                       .bandwidth_bytes_per_s = told[3],
                       .relative_error = told[4]});
    }
  }
  return links;
}

}  // namespace moe
