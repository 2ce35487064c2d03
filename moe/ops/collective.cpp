#include "moe/ops/collective.h"

#include <stdexcept>

namespace moe {

std::string_view name_of(Collective collective) {
  switch (collective) {
    case Collective::all_to_all:
      return "all_to_all";
    case Collective::all_to_all_v:
      return "all_to_all_v";
    case Collective::all_gather:
      return "all_gather";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::all_reduce:
      return "all_reduce";
    case Collective::broadcast:
      return "broadcast";
  }
  throw std::logic_error("name_of: no such collective");
}

std::optional<Collective> collective_named(std::string_view name) {
  for (const Collective collective :
       {Collective::all_to_all, Collective::all_to_all_v, Collective::all_gather,
        Collective::reduce_scatter, Collective::all_reduce, Collective::broadcast}) {
    if (name_of(collective) == name) return collective;
  }
  return std::nullopt;
}

double bus_factor(Collective collective, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (collective) {
    case Collective::all_reduce:
      return 2 * others;
    case Collective::all_to_all:
    case Collective::all_to_all_v:
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return others;
    case Collective::broadcast:
      return 1;
  }
  throw std::logic_error("bus_factor: no such collective");
}

}  // namespace moe
