#include "microbench/bandwidth.h"

#include <stdexcept>

namespace microbench {

double bus_factor(CollectiveKind kind, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (kind) {
    case CollectiveKind::all_reduce:
      return 2 * others;
    case CollectiveKind::all_to_all:
    case CollectiveKind::all_to_all_v:
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      return others;
    case CollectiveKind::broadcast:
      return 1;
  }
  throw std::invalid_argument("bus_factor: no such collective");
}

}  // namespace microbench
